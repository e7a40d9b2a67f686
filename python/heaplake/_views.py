"""Tables by name, as attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING

from heaplake._answers import unknown

if TYPE_CHECKING:
    import polars as pl


class Tables:
    """Tables as lazy polars frames, by attribute (`tables.classes`) or by name (`tables["classes"]`).

    Iterating gives the names of the tables that are there.
    """

    def __init__(self, frame: Callable[[str], pl.LazyFrame], files: Iterable[str], extra: Iterable[str] = ()) -> None:
        self._frame = frame
        self._names = sorted({file.removesuffix(".parquet") for file in files} | set(extra))

    def __getitem__(self, name: str) -> pl.LazyFrame:
        return self._frame(name)

    def __getattr__(self, name: str) -> pl.LazyFrame:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._frame(name)
        except KeyError as error:
            raise AttributeError(unknown(name, self._names)) from error

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._names]

    def __repr__(self) -> str:
        return f"<Tables {', '.join(self._names)}>"

    def _repr_html_(self) -> str:
        return f"<p>{', '.join(f'<code>{escape(name)}</code>' for name in self._names)}</p>"
