"""Answers over several runs: comparisons, series, rollups, each with tables of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from heaplake import _answers, _frames, _html, _runs, _tables, _wide
from heaplake._binary import GateError, InputError
from heaplake._optional import needed
from heaplake._views import Tables
from heaplake._words import size
from heaplake.gates import Gate
from heaplake.run import to_pandas

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["Answer", "Diff", "Rollup", "Trend", "wide"]

#: Rows of an answer that are shown.
_ROWS = 8


class Answer:
    """An answer over several runs: a JSON file that says what was done, and tables beside it.

    Its tables are in long form: a row per subject (a class, a chain, ...) and `measure` (`retained_bytes`, `count`, ...).

    - `folder`: where both are; a temporary one lives as long as this object
    - `said`: the content of the JSON file
    """

    #: The command, which its tables begin with.
    of: ClassVar[str]

    def __init__(self, folder: Path, temporary: TemporaryDirectory[str] | None = None) -> None:
        self.folder = folder
        self._temporary = temporary
        self.said: dict[str, Any] = json.loads((folder / f"{self.of}.json").read_text(encoding="utf-8"))
        if self.said["schema_version"] < _tables.schema_version():
            made_by = f"made by heaplake {self.said['heaplake_version']}"
            cause = f"{folder}: {made_by}, with tables of version {self.said['schema_version']}"
            raise InputError(cause, advice="make it again with this heaplake")

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
        rows = _frames.tables_of(self._folders(), self._table(name))
        # What is in a temporary folder is read at once: the frame may outlive this object, and the folder does not.
        return rows if self._temporary is None else rows.collect().lazy()

    def wide(
        self, name: str, *, measures: Sequence[str] | None = None, fields: Sequence[str] | None = None
    ) -> pl.LazyFrame:
        """A table with a row per subject, and a column `FIELD_MEASURE` for each number of each measure.

        `measures` and `fields` choose some: `retained_bytes`, `delta_sum`. In a series the numbers of steps are lists, by
        step. Raises `KeyError` if no such table can be, or if it is not in long form.

        >>> diff.wide("classes", fields=["delta_sum"]).select("class", "delta_sum_retained_bytes").collect()
        """
        table = self._table(name)
        if not table.measures:
            raise KeyError(f"{table.name} is not in long form: it has a row per {table.row}")
        return _wide.wide(self.frame(name), table.measures if measures is None else measures, fields)

    def _table(self, name: str) -> _tables.Table:
        known = self._known()
        table = known.get(name.removeprefix(f"{self.of}_"))
        if table is None:
            raise KeyError(_answers.unknown(name, known))
        return table

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

    Subjects come ranked: what grew, by what all runs together have more, then what shrank, then the others. Each has a
    `status` (`appeared`, `grew`, `grew_on_some`, ...), hosts on which it changed, and of each measure sum, mean and median
    of both sides, `delta_sum` and `q`. `part_of` is the fingerprint of another subject whose growth explains it.

    - `gates`: what came of each gate of `fail_if`

    >>> diff = lake.diff("release=2.4.0", "release=2.4.1")
    >>> grew = diff.frame("classes").filter(measure="retained_bytes", status="appeared")
    >>> grew.select("class", "delta_sum", "changed_on_names").collect()
    """

    of = "diff"

    def __init__(
        self, folder: Path, temporary: TemporaryDirectory[str] | None = None, gates: Sequence[Gate] = ()
    ) -> None:
        super().__init__(folder, temporary)
        self.gates = tuple(gates)

    @property
    def passed(self) -> bool:
        """Whether all gates passed; also if there are none."""
        return all(gate.passed for gate in self.gates)

    def check(self) -> Diff:
        """Raises `GateError` if a gate did not pass; else returns the comparison.

        >>> lake.diff("release=2.4.0", "release=2.4.1", fail_if=["retained_bytes.delta > 1GiB"]).check()
        """
        bad = [gate for gate in self.gates if not gate.passed]
        if bad:
            said = ", ".join(f"{gate.name}: {gate.outcome}" for gate in bad)
            raise GateError(said, advice=bad[0].message, exit_code=4)
        return self

    def _repr_html_(self) -> str:
        return _shown_diff(self)


class Trend(Answer):
    """A series of runs: what grows, how fast, since when. `Lake.trend` makes it.

    A row is a subject, a measure and a `step`. `shape` says what its series looks like: `growing`, `leaks_on_some`, ...

    >>> lake.trend("label.host=web1").wide("classes").filter(shape_retained_bytes="growing").collect()
    """

    of = "trend"


class Rollup(Answer):
    """All runs of a lake summed up by release and labels, and clusters of runs with one culprit. `Lake.rollup` makes it.

    >>> rollup = lake.rollup()
    >>> classes = rollup.frame("classes").filter(measure="retained_bytes")
    >>> classes.sort("sum").select("signature", "hosts_with", "sum", "median").tail(5).collect()
    >>> rollup.clusters()
    """

    of = "rollup"

    def _folders(self) -> Sequence[Path]:
        return [self.folder / group["folder"] for group in self.said["groups"]]

    def clusters(self) -> pl.DataFrame:
        """Clusters: runs in which the same thing holds far more than it usually does. The largest first.

        Columns: `format`, `signature` (what holds it), `fingerprint`, `releases`, `hosts` and `runs` (folders inside the
        lake, by bytes descending) as lists, `median_bytes` and `max_bytes` (what it holds in a run), `first_seen` and
        `last_seen` (UTC; null if no run says when it was captured). `is_new` says whether all its runs are of the last
        night, the day (UTC) of the newest run of the rollup (null if no run was captured before it), `last_night_runs` how
        many are; `hosts_come`, `hosts_gone` and `hosts_unseen` are hosts that are in it that night and were not before, that
        were in it before and have other runs that night, and that have no run that night.
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
            "is_new": pl.Boolean(),
            "last_night_runs": pl.Int64(),
            "hosts_come": texts,
            "hosts_gone": texts,
            "hosts_unseen": texts,
        }
        lists = ("hosts_come", "hosts_gone", "hosts_unseen")
        rows = []
        for cluster in self.said["clusters"]:
            seen = cluster["captured_at_us"] or [None, None]
            first, last = (None if at is None else _runs.moment(at) for at in seen)
            changes = {name: cluster.get(name, []) for name in lists}
            said = {name: cluster.get(name) for name in schema}
            rows.append({**said, **changes, "first_seen": first, "last_seen": last})
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _repr_html_(self) -> str:
        return _shown_rollup(self)


def _shown_diff(diff: Diff) -> str:
    """Of classes and findings what changed most, as the tables are ranked, without parts of other growth; the gates."""
    import polars as pl

    parts = []
    for name, label in (("classes", "class"), ("findings", "signature")):
        ranking = diff._table(name).measures[0]
        is_shown = pl.col("part_of").is_null() & (pl.col("status") != "same")
        changed = diff.frame(name).filter(is_shown, measure=ranking).head(_ROWS).collect()
        if changed.is_empty():
            continue
        rows = [
            [_html.name(row[label]), _became(row), _signed(row["delta_sum"])] for row in changed.iter_rows(named=True)
        ]
        parts.append(_html.title(f"{name} that changed most") + _html.table([label, "status", "size"], rows))
    if diff.gates:
        gates = [
            [_html.name(gate.name), gate.outcome, f"{gate.failing:,} of {gate.rows:,} rows"] for gate in diff.gates
        ]
        parts.append(_html.title("Gates") + _html.table(["gate", "outcome", "true of"], gates))
    parts += [f"<p>{_html.text(remark)}</p>" for remark in diff.remarks]
    return f"<div>{''.join(parts) or '<p>nothing changed</p>'}</div>"


def _became(row: dict[str, Any]) -> str:
    """The status, and on how many hosts if not on all."""
    of = row["target_hosts"] if row["target_hosts"] is not None else row["target_runs"]
    on = row["changed_on"]
    status: str = row["status"]
    return f"{status}, {on:,} of {of:,}" if on is not None and 0 < on < of else status


def _shown_rollup(rollup: Rollup) -> str:
    """The clusters, and the groups with their runs."""
    said = rollup.said
    clusters = [
        [
            _html.name(cluster["signature"]),
            f"{len(cluster['runs']):,}",
            f"{len(cluster['hosts']):,}",
            size(cluster["median_bytes"]),
        ]
        for cluster in said["clusters"][:_ROWS]
    ]
    groups = [
        [_html.text(group["format"]), _html.name(group["release"] or ""), f"{len(group['runs']):,}", _most(group)]
        for group in said["groups"]
    ]
    parts = []
    if clusters:
        parts.append(_html.title(f"Clusters ({len(said['clusters'])})"))
        parts.append(_html.table(["what holds it", "runs", "hosts", "size"], clusters))
    parts.append(_html.title("Groups") + _html.table(["format", "release", "runs", "largest heap"], groups))
    parts += [f"<p>{_html.text(remark)}</p>" for remark in rollup.remarks]
    return f"<div>{''.join(parts)}</div>"


def _most(group: dict[str, Any]) -> str:
    return size(max((run["bytes"] for run in group["runs"]), default=0))


def _signed(bytes: int | None) -> str:
    if bytes is None:
        return ""
    return f"{'+' if bytes > 0 else ''}{size(bytes)}"


def wide(
    frame: pl.LazyFrame | pl.DataFrame, *, measures: Sequence[str] | None = None, fields: Sequence[str] | None = None
) -> pl.LazyFrame:
    """The same of rows of an answer that were chosen already; without `measures`, with those that the rows have.

    >>> grown = diff.frame("classes").filter(measure="count", status="grew")
    >>> heaplake.wide(grown, measures=["count"], fields=["delta_sum"]).select("class", "delta_sum_count").collect()
    """
    needed("polars", "polars")
    rows = frame.lazy()
    if measures is None:
        measures = rows.select("measure").unique(maintain_order=True).collect()["measure"].to_list()
    return _wide.wide(rows, measures, fields)
