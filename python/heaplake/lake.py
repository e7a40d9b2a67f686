"""A lake: its runs, and questions about all of them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from heaplake import _binary, _duckdb, _frames, _html, _tables
from heaplake._optional import needed
from heaplake._places import Place, place
from heaplake._views import Tables
from heaplake._words import size
from heaplake.comparison import Diff, Rollup, Trend
from heaplake.gates import _gate
from heaplake.run import DamagedRun, Run, run_table, to_pandas

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from duckdb import DuckDBPyConnection

__all__ = ["Lake", "open"]

Side = str | Run

#: Rows of a lake that are shown.
_RUNS = 20


class Lake:
    """The runs of a lake, or some of them, as they were when it was opened. `heaplake.open` makes it.

    - `path`: its folder, or its URL in an object store
    - `runs`: its runs, by release and name
    - `damaged`: folders that should be runs, and what is wrong with each
    """

    def __init__(self, path: Place, runs: Sequence[Run], damaged: Sequence[tuple[Place, str]] = ()) -> None:
        self.path = path
        self.runs = tuple(runs)
        self.damaged = tuple(damaged)

    def run(self, snapshot: str, *, release: str | None = None) -> Run:
        """The run of a name. Raises `KeyError` if there is none, or several in different releases and none is named.

        >>> lake.run("web1", release="2.4.1").top(5)
        """
        found = [run for run in self.runs if run.snapshot == snapshot and release in (None, run.release)]
        if not found:
            where = "" if release is None else f" in release {release}"
            raise KeyError(f"there is no run {snapshot!r}{where}")
        if len(found) > 1:
            raise KeyError(f"{snapshot!r} is in releases {', '.join(run.release for run in found)}: name the release")
        return found[0]

    def select(
        self,
        *,
        release: str | Sequence[str] = (),
        labels: Mapping[str, str | Sequence[str]] | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> Lake:
        """The lake with those runs only for which all that is given holds; views then open no file of others.

        Releases and values of labels are glob patterns; of several one must fit. `since` and `until` are moments
        (`2026-11-22`, `2026-11-22T07:45`, UTC) or ages (`12h`, `7d`); runs that do not say when are left out then. Raises
        `UsageError`, with the nearest, for a release or a label that no run of the lake has.

        >>> lake.select(release="2.4.*", labels={"host": ["web1", "web2"]}, since="7d")
        """
        options = [f"--release={pattern}" for pattern in _several(release)]
        for key, patterns in (labels or {}).items():
            options += [f"--label={key}={pattern}" for pattern in _several(patterns)]
        options += [f"--since={since}"] if since is not None else []
        options += [f"--until={until}"] if until is not None else []
        chosen = {(run.release, run.snapshot) for run in _listed(self.path, options)[0]}
        return Lake(self.path, [run for run in self.runs if (run.release, run.snapshot) in chosen], self.damaged)

    def refresh(self) -> Lake:
        """The lake as it is now, with all its runs."""
        return open(self.path)

    @property
    def tables(self) -> Tables:
        """Its tables over all runs as lazy polars frames: `lake.tables.classes`; `lake.tables.runs` has a row per run."""
        return Tables(self.frame, {file for run in self.runs for file in run.files}, ["runs"])

    def frame(self, name: str) -> pl.LazyFrame:
        """A table over all runs as a lazy polars frame, or `runs`, which has a row per run.

        It begins with `release`, `snapshot`, `captured_at` and `labels` (a map) of the run, as the views of `heaplake sql`.
        A column that older runs lack is null in theirs; a table that no run has is empty. Numbers of nodes and classes are
        those of a run: join on `release`, `snapshot` and the number. Raises `KeyError` if there is no such table.

        >>> from polars import col
        >>> classes = lake.frame("classes").filter(col("labels").map.get("host") == "web1")
        >>> classes.group_by("release").agg(col("shallow_bytes").sum()).collect()
        """
        needed("polars", "polars")
        return _frames.runs_view(self.runs) if name == "runs" else _frames.view(run_table(name), self.runs)

    def pandas(self, name: str) -> pd.DataFrame:
        """A table over all runs in pandas, with the types of Arrow, so that no id loses a digit and null is not NaN.

        >>> lake.pandas("owners").groupby("release")["retained_bytes"].sum()
        """
        return to_pandas(self.frame(name))

    def duckdb(self) -> DuckDBPyConnection:
        """A new DuckDB connection in memory with a view per table and `runs`: those of `heaplake sql`.

        >>> lake.duckdb().sql("SELECT release, max(retained_bytes) FROM classes GROUP BY ALL ORDER BY ALL")
        """
        return _duckdb.connect(self.runs)

    def sql(self, statement: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> pl.DataFrame:
        """The rows of a statement over the views, by DuckDB. `?` or `$name` are parameters.

        >>> lake.sql("SELECT * FROM runs WHERE labels['host'] = ?", ["web1"])
        """
        needed("polars", "polars")
        import polars as pl

        rows = self._connection.sql(statement, params=parameters)
        # A statement without rows has no relation.
        frame: pl.DataFrame = pl.DataFrame() if rows is None else rows.pl()
        return frame

    @cached_property
    def _connection(self) -> DuckDBPyConnection:
        return self.duckdb()

    def describe(self, name: str) -> pl.DataFrame:
        """The columns of a table: `column`, `type`, `unit`, `null` (whether it can be) and `meaning`.

        >>> lake.describe("classes")
        """
        needed("polars", "polars")
        import polars as pl

        columns = _tables.view_columns(run_table(name))
        rows = [(c.name, str(_tables.polars_type(c.type)), c.unit, c.nullable, c.meaning) for c in columns]
        names = ("column", "type", "unit", "null", "meaning")
        return pl.DataFrame(rows, schema=names, orient="row")

    def diff(
        self,
        base: Side,
        target: Side,
        *,
        fail_if: str | Sequence[str] = (),
        gates: str | os.PathLike[str] | None = None,
        undecided: Literal["fail", "pass"] = "fail",
        pair: str | None = "label.host",
        objects: bool = False,
        skip_damaged: bool = False,
        out: str | os.PathLike[str] | None = None,
    ) -> Diff:
        """What grew from one side to the other, through which holder, on which hosts, and whether it is real.

        A side is a run, its folder, or a selection of runs such as `release=2.4.*,label.host=web1`. Hosts of both sides are
        compared with themselves: `pair` is the label that names them, or None.

        `fail_if` are gates, conditions such as `chains: status = "new_path"`, and `gates` is a file of them. What came of
        them is in `gates` and `passed` of the answer; nothing is raised before its `check()`. `undecided` says whether a
        gate passes that asks for a statistic where there are too few runs for one.

        `objects` compares two snapshots of one process object by object, too. `out` keeps the tables there. Sizes of heaps
        matter little: it works on the tables alone. Raises `InputError` if a run that a side names cannot be read; with
        `skip_damaged` it is left out, and `remarks` says so. Raises `UsageError` if a gate cannot be understood.

        >>> lake.diff("release=2.4.0", "release=2.4.1").frame("classes").filter(measure="retained_bytes").collect()
        >>> lake.diff("release=2.4.0", "release=2.4.1", fail_if='class = "Session" and q < 0.05').passed
        """
        conditions = [f"--fail-if={condition}" for condition in _several(fail_if)]
        conditions += [] if gates is None else [f"--gates={os.fspath(gates)}"]
        options = [f"--pair={pair or 'none'}", *_skipping(skip_damaged), *(["--objects"] if objects else [])]
        folder, temporary = _folder(out)
        command = ["diff", _side(base), _side(target), f"--lake={self.path}", f"--out={folder}", *options]
        if not conditions:
            _binary.run([*command, "--quiet"])
            return Diff(folder, temporary)
        # A gate that fails is an answer (4).
        said = _binary.run_json([*command, *conditions, f"--undecided={undecided}"], answers=(0, 4))["gates"]
        if said["missed"] and not skip_damaged:
            problem = said["missed"][0]
            raise _binary.InputError(f"{problem['path']}: {problem['problem']}", exit_code=1, command=command)
        return Diff(folder, temporary, [_gate(gate) for gate in said["gates"]])

    def trend(
        self,
        *selections: Side,
        by: str = "captured",
        skip_damaged: bool = False,
        out: str | os.PathLike[str] | None = None,
    ) -> Trend:
        """What rises over a series of runs, how fast, and since when.

        One selection is split into steps `by` `captured`, `release` or `label.NAME`; several are a step each. Runs that
        cannot be read are as in `diff`.

        >>> lake.trend("label.host=web1").wide("classes").filter(shape_retained_bytes="growing").collect()
        """
        folder, temporary = _folder(out)
        options = [f"--by={by}"] if len(selections) == 1 else []
        options += _skipping(skip_damaged)
        sides = [_side(selection) for selection in selections]
        _binary.run(["trend", *sides, f"--lake={self.path}", f"--out={folder}", "--quiet", *options])
        return Trend(folder, temporary)

    def rollup(
        self,
        *,
        by: Sequence[str] = ("release",),
        since: str | None = None,
        until: str | None = None,
        release: str | Sequence[str] = (),
        labels: Mapping[str, str | Sequence[str]] | None = None,
        skip_damaged: bool = False,
        out: str | os.PathLike[str] | None = None,
    ) -> Rollup:
        """The runs of the lake summed up, and clusters of runs with one culprit.

        `by` are `release` and `label.NAME`. `since` and `until` are dates or times of UTC, or ages such as `14d`; `release`
        and the values of `labels` are glob patterns, several of which are alternatives: all as options of `heaplake ls`. `out` keeps the rollup, so that the next one there does only what changed;
        `LAKE/fleet` is where `heaplake fleet rollup` has it. Takes all runs of the folder, also of a selection. Runs that
        cannot be read are as in `diff`; with `out`, the rollup of the others is there.

        >>> lake.rollup(since="14d", labels={"host": "web*"})
        >>> lake.rollup(out="lake/fleet").clusters().select("signature", "hosts", "median_bytes")
        """
        folder, temporary = _folder(out)
        options = [f"--by={','.join(by)}", *_chosen(since, until, release, labels or {}), *_skipping(skip_damaged)]
        _binary.run(["fleet", "rollup", self.path, *options, f"--out={folder}", "--quiet"])
        return Rollup(folder, temporary)

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __repr__(self) -> str:
        releases = {run.release for run in self.runs}
        return f"<Lake {self.path}: {len(self.runs)} runs of {len(releases)} releases>"

    def _repr_html_(self) -> str:
        return _shown(self)


def _shown(lake: Lake) -> str:
    """A lake: its runs, a line each."""
    runs = lake.runs
    labels = sorted({key for run in runs for key in run.labels})
    titles = ["release", "snapshot", "format", *labels, "captured (UTC)", "objects", "size", "findings"]
    rows = [_line(run, labels) for run in runs[:_RUNS]]
    parts = [
        f"<h4 style='margin:4px 0'>{len(runs):,} run{'' if len(runs) == 1 else 's'}</h4>",
        _html.table(titles, rows),
    ]
    if len(runs) > _RUNS:
        parts.append(f"<p>… and {len(runs) - _RUNS:,} more</p>")
    for folder, problem in lake.damaged:
        parts.append(
            f"<p><b style='color:{_html.COLOURS['high']}'>damaged</b> {_html.text(f'{folder.name}: {problem}')}</p>"
        )
    return "<div>" + "".join(parts) + "</div>"


def _line(run: Run, labels: Sequence[str]) -> list[str]:
    objects = run.nodes if run.nodes is not None else run.allocations
    bytes = run.heap_bytes if run.heap_bytes is not None else run.allocated_bytes
    captured = "" if run.captured_at is None else f"{run.captured_at:%Y-%m-%d %H:%M}"
    counts = [("high", run.severities.high), ("medium", run.severities.medium), ("low", run.severities.low)]
    findings = ", ".join(_html.coloured(f"{count} {severity}", severity) for severity, count in counts if count)
    named = [_html.name(run.release), _html.name(run.snapshot), _html.text(run.format)]
    return [
        *named,
        *(_html.name(run.labels.get(key, "")) for key in labels),
        captured,
        f"{objects or 0:,}",
        size(bytes or 0),
        findings or "none",
    ]


def open(path: str | os.PathLike[str]) -> Lake:
    """Opens a lake: the folder or the URL that `--out` named.

    Warns of each run that is damaged or newer than the binary (`DamagedRun`). Raises `UsageError` or `InputError` if the
    folder cannot be read or is no lake.

    >>> lake = heaplake.open("lake")
    >>> lake.tables.classes.group_by("release").len().collect()
    """
    lake = place(path)
    runs, damaged = _listed(lake, [])
    for folder, problem in damaged:
        warnings.warn(f"{folder}: {problem}", DamagedRun, stacklevel=2)
    return Lake(lake, runs, damaged)


def _listed(path: Place, options: Sequence[str]) -> tuple[list[Run], list[tuple[Place, str]]]:
    said = _binary.run_json(["ls", path, *options, "--details"])
    damaged = [(place(found["path"]), str(found["problem"])) for found in said["damaged"]]
    return [Run._listed(found) for found in said["runs"]], damaged


def _several(said: str | Sequence[str]) -> Sequence[str]:
    return [said] if isinstance(said, str) else said


def _skipping(skip_damaged: bool) -> list[str]:
    return ["--skip-damaged"] if skip_damaged else []


def _chosen(
    since: str | None, until: str | None, release: str | Sequence[str], labels: Mapping[str, str | Sequence[str]]
) -> list[str]:
    """Conditions on runs, as options of the binary."""
    options = [f"--{name}={moment}" for name, moment in (("since", since), ("until", until)) if moment is not None]
    options += [f"--release={pattern}" for pattern in _several(release)]
    return options + [f"--label={name}={pattern}" for name in labels for pattern in _several(labels[name])]


def _side(side: Side) -> str:
    return str(side.path) if isinstance(side, Run) else side


def _folder(out: str | os.PathLike[str] | None) -> tuple[Path, TemporaryDirectory[str] | None]:
    """Where an answer goes: a folder that stays, or a temporary one."""
    if out is not None:
        return Path(out), None
    temporary = TemporaryDirectory(prefix="heaplake-")
    return Path(temporary.name), temporary
