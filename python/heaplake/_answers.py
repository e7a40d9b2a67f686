"""Answers of the binary as frames, with the types of the tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from heaplake._optional import needed

if TYPE_CHECKING:
    import polars as pl

_NODE = ("node", "id", "class", "name", "shallow_bytes", "retained_bytes", "distance")


def _node_schema() -> dict[str, pl.DataType]:
    pl = needed("polars", "polars")
    kinds = (pl.UInt32(), pl.UInt64(), pl.String(), pl.String(), pl.Int64(), pl.Int64(), pl.Int32())
    return dict(zip(_NODE, kinds, strict=True))


def _node(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: said[name] for name in _NODE}


def _frame(rows: Iterable[dict[str, Any]], schema: dict[str, pl.DataType]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(list(rows), schema=schema, orient="row")


def top(said: Mapping[str, Any]) -> pl.DataFrame:
    """`heaplake top --json`."""
    pl = needed("polars", "polars")
    schema = {**_node_schema(), "dominators": pl.List(pl.String()), "dominators_left_out": pl.Int64()}
    rows = (
        {
            **_node(found),
            "dominators": [above["class"] for above in found["dominators"]],
            "dominators_left_out": found["dominators_left_out"],
        }
        for found in said["objects"]
    )
    return _frame(rows, schema)


def objects(said: Mapping[str, Any]) -> pl.DataFrame:
    """`heaplake query --json`."""
    pl = needed("polars", "polars")
    kinds = {"number": pl.Int64(), "bytes": pl.Int64(), "text": pl.String(), "flag": pl.Boolean()}
    schema = {
        column["name"]: pl.UInt64() if column["name"] == "id" else kinds[column["type"]] for column in said["columns"]
    }
    return _frame(said["rows"], schema)


def why(said: Mapping[str, Any]) -> pl.DataFrame:
    """`heaplake why --json`."""
    pl = needed("polars", "polars")
    of_path = {"relation": pl.String(), "path": pl.UInt32(), "step": pl.UInt32(), "edge": pl.String()}
    shown = said.get("paths") or [path for path in [said["shortest_path"]] if path is not None]
    rows = [row for number, path in enumerate(shown) for row in _steps("path", number, path)]
    rows += _steps("dominators", 0, said["dominators"])
    return _frame(rows, {**of_path, **_node_schema()})


def _steps(relation: str, path: int, shown: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Of a long path the middle is left out: its numbers are."""
    steps = shown["steps"]
    for at, step in enumerate(steps):
        number = at if at < len(steps) // 2 else at + shown["left_out"]
        yield {"relation": relation, "path": path, "step": number, "edge": step.get("edge"), **_node(step)}


def dominators(said: Mapping[str, Any]) -> pl.DataFrame:
    """`heaplake dominators --json`."""
    pl = needed("polars", "polars")
    before = {"depth": pl.UInt32(), "parent": pl.UInt32()}
    after = {"others": pl.Int64(), "others_retained_bytes": pl.Int64()}
    return _frame(_below(said), {**before, **_node_schema(), **after})


def _below(said: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    waiting: list[tuple[int, int | None, Mapping[str, Any]]] = [(0, None, said)]
    while waiting:
        depth, parent, branch = waiting.pop()
        more = {name: branch[name] for name in ("others", "others_retained_bytes")}
        yield {"depth": depth, "parent": parent, **_node(branch), **more}
        waiting.extend((depth + 1, branch["node"], child) for child in reversed(branch["children"]))


def unknown(name: str, names: Iterable[str]) -> str:
    """What to say of a name that is not there."""
    near = get_close_matches(name, list(names), n=3)
    return f"there is no table {name!r}" + (f"; the nearest: {', '.join(near)}" if near else "")
