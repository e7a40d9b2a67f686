"""Answers over several runs: comparisons, series, rollups, each with tables of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from heaplake import _answers, _frames, _html_answers, _runs, _tables
from heaplake._optional import needed
from heaplake._views import Tables
from heaplake.run import to_pandas

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["Answer", "Diff", "Rollup", "Trend"]


class Answer:
    """An answer over several runs: a JSON file that says what was done, and tables beside it.

    - `folder`: where both are; a temporary one lives as long as this object
    - `said`: the content of the JSON file
    """

    #: The command, which its tables begin with.
    of: ClassVar[str]

    def __init__(self, folder: Path, temporary: TemporaryDirectory[str] | None = None) -> None:
        self.folder = folder
        self._temporary = temporary
        self.said: dict[str, Any] = json.loads((folder / f"{self.of}.json").read_text(encoding="utf-8"))

    def _folders(self) -> Sequence[Path]:
        return [self.folder]

    @property
    def tables(self) -> Tables:
        """Its tables as lazy polars frames, without what their names begin with: `diff.tables.classes`."""
        there = {
            table.file for table in self._known().values() for at in self._folders() if (at / table.file).is_file()
        }
        return Tables(self.frame, [file.removeprefix(f"{self.of}_") for file in there])

    def frame(self, name: str) -> pl.LazyFrame:
        """A table as a lazy polars frame: `classes` or, the same, `diff_classes`. Empty if there is none.

        It is read at once where the folder is a temporary one, and on `collect` where it is not.
        Raises `KeyError` if no such table can be.
        """
        needed("polars", "polars")
        known = self._known()
        table = known.get(name.removeprefix(f"{self.of}_"))
        if table is None:
            raise KeyError(_answers.unknown(name, known))
        rows = _frames.tables_of(self._folders(), table)
        # What is in a temporary folder is read at once: the frame may outlive this object, and the folder does not.
        return rows if self._temporary is None else rows.collect().lazy()

    def pandas(self, name: str) -> pd.DataFrame:
        """A table in pandas, with the types of Arrow."""
        return to_pandas(self.frame(name))

    @property
    def remarks(self) -> list[str]:
        """What a reader must know, a sentence each: runs that are left out, and why."""
        return list(self.said.get("remarks", []))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: tables {', '.join(self.tables)}>"

    def _known(self) -> dict[str, _tables.Table]:
        of_this = (table for table in _tables.tables().values() if table.of == self.of)
        return {table.name.removeprefix(f"{self.of}_"): table for table in of_this}


class Diff(Answer):
    """What grew between two sides. `Lake.diff` makes it.

    Rows have a `status` (`appeared`, `grew`, `new_path`, ...), and of each measure `base_...`, `target_...` and
    `delta_...`, in bytes or objects; medians where a side has several runs.

    >>> diff = lake.diff("release=2.4.0", "release=2.4.1")
    >>> diff.frame("classes").filter(status="appeared").select("class", "delta_retained_bytes").collect()
    """

    of = "diff"

    def _repr_html_(self) -> str:
        return _html_answers.diff(self)


class Trend(Answer):
    """A series of runs: what grows, how fast, since when. `Lake.trend` makes it.

    >>> lake.trend("label.host=web1").frame("classes").filter(shape="rising").collect()
    """

    of = "trend"


class Rollup(Answer):
    """All runs of a lake summed up by release and labels, and clusters of runs with one culprit. `Lake.rollup` makes it.

    >>> rollup = lake.rollup()
    >>> rollup.frame("classes").sort("max_retained_bytes").select("signature", "hosts_with").tail(5).collect()
    >>> rollup.clusters()
    """

    of = "rollup"

    def _folders(self) -> Sequence[Path]:
        return [self.folder / group["folder"] for group in self.said["groups"]]

    def clusters(self) -> pl.DataFrame:
        """Clusters: runs in which the same thing holds far more than it usually does. The largest first.

        Columns: `format`, `signature` (what holds it), `fingerprint`, `releases`, `hosts` and `runs` (folders inside the
        lake, by bytes descending) as lists, `median_bytes` and `max_bytes` (what it holds in a run), `first_seen` and
        `last_seen` (UTC; null if no run says when it was captured).
        """
        needed("polars", "polars")
        import polars as pl

        texts = pl.List(pl.String())
        moment = pl.Datetime("us", "UTC")
        schema = {
            "format": pl.String(),
            "signature": pl.String(),
            "fingerprint": pl.String(),
            "releases": texts,
            "hosts": texts,
            "runs": texts,
            "median_bytes": pl.Int64(),
            "max_bytes": pl.Int64(),
            "first_seen": moment,
            "last_seen": moment,
        }
        rows = []
        for cluster in self.said["clusters"]:
            seen = cluster["captured_at_us"] or [None, None]
            first, last = (None if at is None else _runs.moment(at) for at in seen)
            rows.append({**{name: cluster.get(name) for name in schema}, "first_seen": first, "last_seen": last})
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _repr_html_(self) -> str:
        return _html_answers.rollup(self)
