"""Plots of a lake and its runs, with plotly: one function each, which returns a figure to show or to change.

>>> from heaplake import plots
>>> plots.growth(lake)
>>> plots.owner_treemap(lake.runs[0])
>>> plots.flame_graph(lake.runs[0])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from heaplake._optional import needed
from heaplake._words import shortened, size, visible
from heaplake.lake import Lake
from heaplake.run import Run

if TYPE_CHECKING:
    import polars as pl
    from plotly.graph_objects import Figure

__all__ = ["flame_graph", "growth", "owner_treemap"]

#: Characters of a name in a legend or a box.
_NAME = 60

#: Colours of files in a flame graph, in the order in which calls of them come, and of what is no call.
_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#eeca3b")
_NEUTRAL = "#bab0ac"


def growth(
    lake: Lake, *, classes: int | Sequence[str] = 10, measure: str = "retained_bytes", releases: Sequence[str] = ()
) -> Figure:
    """Classes over releases: a line per class, its median over the runs of each release.

    - `classes`: their names, or how many: those that grew most from the first release to the last
    - `measure`: a column of the table `classes`: `retained_bytes`, `shallow_bytes`, `count`, ...
    - `releases`: in this order; otherwise in the order in which their first runs were captured

    A run without the class counts as 0. Classes of one name in several files are several lines, by their signature.
    Raises `ValueError` if no run has the table `classes`.

    >>> plots.growth(lake, classes=["Session", "Map"], measure="count")
    """
    pl = needed("polars", "plots")
    go = needed("plotly.graph_objects", "plots")
    of_runs = [run for run in lake.runs if "classes.parquet" in run.files and (not releases or run.release in releases)]
    if not of_runs:
        raise ValueError("no run has the table classes")
    order = list(releases) or _by_time(of_runs)
    medians = _medians(Lake(lake.path, of_runs), order, measure)
    if isinstance(classes, int):
        grown = (pl.col(order[-1]) - pl.col(order[0])).alias("grown")
        shown = medians.with_columns(grown).sort(["grown", "name"], descending=[True, False]).head(classes)
    else:
        shown = medians.filter(pl.col("class").is_in(list(classes))).sort(order[-1], descending=True)
    unit = "bytes" if measure.endswith("bytes") else measure
    figure = go.Figure(layout={"xaxis_title": "release", "yaxis_title": f"{measure}, median of a release's runs"})
    for row in shown.iter_rows(named=True):
        values = [row[release] for release in order]
        said = [size(value) if unit == "bytes" else f"{value:,.0f}" for value in values]
        hover = "%{x}: %{customdata}<extra>%{fullData.name}</extra>"
        figure.add_scatter(x=order, y=values, name=_shown(row["name"]), customdata=said, hovertemplate=hover)
    figure.update_xaxes(type="category")
    figure.update_yaxes(rangemode="tozero")
    return figure


def _by_time(runs: Sequence[Run]) -> list[str]:
    """Releases by their first run; those of runs that do not say when come last, by name."""
    first: dict[str, float] = {}
    for run in runs:
        at = run.captured_at.timestamp() if run.captured_at is not None else float("inf")
        first[run.release] = min(at, first.get(run.release, float("inf")))
    return sorted(first, key=lambda release: (first[release], release))


def _medians(lake: Lake, order: Sequence[str], measure: str) -> pl.DataFrame:
    """A row per class with its `name`, its `class` and a column per release."""
    import polars as pl

    runs_of = {release: sum(run.release == release for run in lake.runs) for release in order}
    name = pl.coalesce("signature", "class").alias("name")
    per_run = (
        lake.frame("classes")
        .group_by("release", "snapshot", name)
        .agg(pl.col(measure).sum().alias("value"), pl.col("class").first())
    )
    runs = pl.col("release").replace_strict(runs_of, return_dtype=pl.Int64)
    absent = runs - pl.col("values").list.len().cast(pl.Int64)

    def ranked(position: pl.Expr) -> pl.Expr:
        """The value at a position of all, of which those of runs without the class are 0 and come first."""
        index = position - absent
        return pl.when(index < 0).then(0).otherwise(pl.col("values").list.get(index.clip(0)))

    medians = (
        per_run.group_by("release", "name")
        .agg(pl.col("class").min(), pl.col("value").sort().alias("values"))
        .with_columns(((ranked((runs - 1) // 2) + ranked(runs // 2)) / 2).alias("median"))
        .collect()
    )
    names = medians.group_by("name").agg(pl.col("class").min())
    wide = medians.pivot("release", index="name", values="median")
    absent_releases = [pl.lit(0.0).alias(release) for release in order if release not in wide.columns]
    return wide.with_columns(absent_releases).with_columns(pl.col(order).fill_null(0.0)).join(names, on="name")


def owner_treemap(of: Run | Lake, *, measure: str = "retained_bytes") -> Figure:
    """Who owns the heap: a box per owner (package, team), of one run, or of each run of a lake.

    - `measure`: `retained_bytes` or `shallow_bytes`, which both sum to the heap, or `count`

    Raises `ValueError` if no run has the table `owners`.

    >>> plots.owner_treemap(lake.select(release="2.4.1"))
    """
    pl = needed("polars", "plots")
    go = needed("plotly.graph_objects", "plots")
    runs = [run for run in ([of] if isinstance(of, Run) else of.runs) if "owners.parquet" in run.files]
    if not runs:
        raise ValueError("no run has the table owners")
    boxes = _Boxes(measure)
    of_runs = [run.frame("owners").select("owner", pl.col(measure).fill_null(0)).collect() for run in runs]
    sums = [int(owners[measure].sum()) for owners in of_runs]
    top = boxes.add("top", "", "heap" if len(runs) == 1 else "all runs", 0, sum(sums))
    for number, (run, owners) in enumerate(zip(runs, of_runs, strict=True)):
        name = f"{run.release} / {run.snapshot}"
        parent = top if len(runs) == 1 else boxes.add(f"run {number}", top, name, 0, sums[number])
        for owner, value in owners.iter_rows():
            boxes.add(f"{number} {owner}", parent, owner, value, value)
    return boxes.figure(go.Treemap)


def flame_graph(run: Run, *, measure: str = "bytes", least: float = 0.001, upward: bool = False) -> Figure:
    """Who allocated: the tree of calls of a trace, or of a snapshot with allocation stacks.

    - `measure`: `bytes`, `count` or `samples`; of a snapshot also `live_bytes` and `live_count`, what is still alive
    - `least`: calls below this part of all are left out; they count for their callers
    - `upward`: the outermost functions are at the bottom, as in a flame graph, and not at the top, as in an icicle

    A click on a call shows it alone; functions of one file have one colour. Raises `ValueError` if the run has no table `allocation_callees`.

    >>> plots.flame_graph(run, measure="live_bytes")
    """
    pl = needed("polars", "plots")
    go = needed("plotly.graph_objects", "plots")
    if "allocation_callees.parquet" not in run.files:
        raise ValueError(f"{run.snapshot} has no calls: the input has no allocation stacks")
    names = run.frame("allocation_functions").select("function_id", "function", "file", "line")
    calls = (
        run.frame("allocation_callees")
        .select("node", "parent", "depth", "function_id", pl.col(f"inclusive_{measure}").alias("value"))
        .join(names, on="function_id", how="left", maintain_order="left")
        .collect()
    )
    if calls["value"].null_count():
        raise ValueError(f"{run.snapshot} does not tell {measure} of calls")
    outermost = calls.filter(pl.col("parent").is_null())
    total = int(outermost["value"].sum())
    boxes = _Boxes(measure)
    top = boxes.add("all", "", "all", total, total) if len(outermost) != 1 else ""
    files: dict[str | None, int] = {}
    # Preorder: a call comes after its caller, and never has more than it.
    for call in calls.filter(pl.col("value") >= max(total * least, 1)).iter_rows(named=True):
        parent = top if call["parent"] is None else str(call["parent"])
        place = "" if call["file"] is None else f"{call['file']}:{call['line'] or '?'}"
        boxes.add(str(call["node"]), parent, call["function"], call["value"], call["value"], place)
        boxes.colours[str(call["node"])] = _COLOURS[files.setdefault(call["file"], len(files)) % len(_COLOURS)]
    figure = boxes.figure(go.Icicle, branchvalues="total")
    figure.update_traces(tiling={"orientation": "v", "flip": "y" if upward else None})
    return figure


class _Boxes:
    """Boxes inside boxes, as plotly wants them."""

    def __init__(self, measure: str) -> None:
        self._bytes = measure.endswith("bytes")
        self._boxes: list[tuple[str, str, str, int, str, str]] = []
        self.colours: dict[str, str] = {}

    def add(self, id: str, parent: str, label: str, value: int, total: int, place: str = "") -> str:
        """Adds a box and returns its id. `value` is what the figure adds up, `total` is what people read."""
        read = size(total) if self._bytes else f"{total:,}"
        self._boxes.append((id, parent, _shown(label), value, read, visible(place)))
        return id

    def figure(self, kind: Any, **more: Any) -> Figure:
        """The boxes as a figure of one trace."""
        go = needed("plotly.graph_objects", "plots")
        if self.colours:
            more["marker"] = {"colors": [self.colours.get(box[0], _NEUTRAL) for box in self._boxes]}
        names = ("ids", "parents", "labels", "values", "text", "customdata")
        trace = kind(
            **{name: [box[at] for box in self._boxes] for at, name in enumerate(names)},
            texttemplate="%{label}<br>%{text}",
            hovertemplate="<b>%{label}</b><br>%{customdata}<br>%{text}, %{percentRoot:.1%}<extra></extra>",
            **more,
        )
        figure: Figure = go.Figure(trace, layout={"margin": {"t": 10, "l": 10, "r": 10, "b": 10}})
        return figure


def _shown(name: str) -> str:
    """A name from a snapshot: plotly takes some markup in texts, so none may be in it."""
    plain = shortened(visible(name), _NAME)
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
