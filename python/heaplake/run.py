"""A run: one snapshot or trace of the lake, its tables, and questions about its objects."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from heaplake import _answers, _binary, _frames, _html, _runs, _tables
from heaplake._optional import needed
from heaplake._places import Place, Url, place
from heaplake._views import Tables
from heaplake._words import size

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["DamagedRun", "Run", "Severities"]

#: Findings and classes of a run that are shown.
_FINDINGS, _CLASSES = 5, 8


class DamagedRun(UserWarning):
    """A run of the lake, or a table of it, cannot be read. Views leave it out."""


@dataclass(frozen=True)
class Severities:
    """Numbers of findings by severity."""

    high: int
    medium: int
    low: int


@dataclass(frozen=True, eq=False)
class Run:
    """A run of a lake. `heaplake.open` makes them.

    - `path`: its folder, or its URL in an object store
    - `release`, `snapshot`: its names in the lake
    - `format`: that of its input, such as `v8-heapsnapshot`
    - `labels`: from the command line, such as `host`
    - `nodes`, `heap_bytes`: objects of the heap and their shallow bytes; None for a trace
    - `allocations`, `allocated_bytes`: objects that a trace allocated and their bytes; None for a heap
    - `input_bytes`, `disk_bytes`: bytes of the input as stored, and of the files of the run
    - `severities`: findings by severity
    - `partial`: what the run leaves out because its input is damaged, or None
    - `texts`: texts of the heap in it, `full`, `hash` or `none`; None for a trace

    >>> run = heaplake.open("lake").runs[0]
    >>> run.release, run.labels["host"]
    ('2.4.0', 'web1')
    >>> run.frame("classes").sort("retained_bytes").tail(3).collect()
    """

    path: Place
    release: str
    snapshot: str
    format: str
    labels: Mapping[str, str]
    nodes: int | None
    heap_bytes: int | None
    allocations: int | None
    allocated_bytes: int | None
    input_bytes: int
    disk_bytes: int
    severities: Severities
    partial: str | None
    texts: str | None
    _details: dict[str, Any] = field(repr=False, default_factory=dict)

    @classmethod
    def _listed(cls, listed: Mapping[str, Any]) -> Run:
        """From an entry of `heaplake ls --json --details`."""
        same = ("release", "snapshot", "format", "nodes", "heap_bytes", "allocations", "allocated_bytes")
        return cls(
            path=place(listed["path"]),
            labels=MappingProxyType(dict(listed["labels"])),
            severities=Severities(**listed["findings"]),
            _details=listed["details"],
            **{name: listed[name] for name in (*same, "input_bytes", "disk_bytes", "partial", "texts")},
        )

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The content of its `run.json`: versions, options, tables with rows and bytes, the summary.

        >>> run.metadata["summary"]["edge_count"]
        2617772
        """
        return _binary.run_json(["show", self.path]) if isinstance(self.path, Url) else _runs.read_metadata(self.path)

    @cached_property
    def captured_at(self) -> datetime | None:
        """When the input was captured (UTC): what it says itself, else when its file was last changed, else None."""
        exact = self._details["captured_at_us"]
        return None if exact is None else _runs.moment(exact)

    @cached_property
    def files(self) -> frozenset[str]:
        """Files of the tables that it has. Warns of those that are gone (`DamagedRun`); a store is not asked."""
        gone = sorted(self._details["missing"])
        if gone:
            advice = "analyse its input again with --force, or drop the run"
            warnings.warn(f"{self.path}: {', '.join(gone)} not there: {advice}", DamagedRun, stacklevel=2)
        return frozenset(self._details["tables"]).difference(gone)

    @cached_property
    def _tables_at(self) -> Place:
        """Where its tables are."""
        return place(_runs.tables_in(str(self.path), self._details["folder"]))

    @cached_property
    def _partition(self) -> str | None:
        """In a compacted lake, the folders of its packs: `release=…/night=…`."""
        night = self._details["night"]
        return None if night is None else f"{str(self.path).split('/')[-2]}/night={night}"

    @cached_property
    def _lake(self) -> str:
        """The lake, in which its packs are."""
        return self.path.rsplit("/", 2)[0] if isinstance(self.path, Url) else str(self.path.parent.parent)

    @cached_property
    def _packs(self) -> Mapping[str, str]:
        """The packs of its tables by file: their folders are beside those of the releases."""
        if self._partition is None:
            return {}
        names = {file: file.removesuffix(".parquet") for file in self._details["packed"]}
        pack_of = _runs.pack_of
        return {file: pack_of(self._lake, name, self._partition, self.schema_version) for file, name in names.items()}

    @property
    def summary(self) -> dict[str, Any]:
        """What the view `runs` says of it: sizes, counts, findings by severity, versions."""
        heap = self.nodes is not None
        details = self._details
        return {
            "path": str(self.path.resolve()),
            "source": details["source"],
            "format": self.format,
            "replay": not heap,
            "input_bytes": self.input_bytes,
            "input_hash": details["input_hash"],
            "table_bytes": details["table_bytes"],
            "node_count": self.nodes,
            "edge_count": details["edge_count"] if heap else None,
            "shallow_bytes": self.heap_bytes,
            "high_findings": self.severities.high,
            "medium_findings": self.severities.medium,
            "low_findings": self.severities.low,
            "partial_reason": self.partial,
            "texts": self.texts,
            "heaplake_version": details["heaplake_version"],
            "schema_version": details["schema_version"],
            "scratch_bytes": details["scratch_bytes"],
            "peak_rss_bytes": details["peak_rss_bytes"],
        }

    @property
    def schema_version(self) -> int:
        """Version of its tables."""
        return int(self._details["schema_version"])

    @property
    def tables(self) -> Tables:
        """Its tables as lazy polars frames: `run.tables.classes`."""
        return Tables(self.frame, self.files)

    def frame(self, name: str) -> pl.LazyFrame:
        """A table of the run as a lazy polars frame, with `release`, `snapshot`, `captured_at` and `labels` first.

        Empty if the run does not have the table. Raises `KeyError` if there is no such table.

        >>> run.frame("owners").select("owner", "retained_bytes").collect()
        """
        needed("polars", "polars")
        return _frames.view(run_table(name), [self])

    def pandas(self, name: str) -> pd.DataFrame:
        """A table of the run in pandas, with the types of Arrow, so that no id loses a digit and null is not NaN.

        >>> run.pandas("classes").nlargest(5, "retained_bytes")
        """
        return to_pandas(self.frame(name))

    def findings(self) -> pl.DataFrame:
        """The findings, the most severe first: `severity`, `rule`, `subject`, `count`, `bytes`, `message`, ...

        >>> run.findings().select("severity", "bytes", "message")
        """
        return self.frame("findings").drop("release", "snapshot", "captured_at", "labels").collect()

    def top(self, count: int = 20, *, classes: str | Sequence[str] = ()) -> pl.DataFrame:
        """The objects with the largest retained sizes, of all classes or of those that fit a glob pattern.

        Columns: `node` and `id` (to ask on), `class`, `name`, `shallow_bytes`, `retained_bytes`, `distance` (edges from a
        root), `dominators` (classes of the nearest, the immediate one last), `dominators_left_out` (above these).
        Raises `UsageError` if no class fits; the error names the nearest.

        >>> run.top(5, classes="Session*")
        """
        patterns = [classes] if isinstance(classes, str) else classes
        options = [part for pattern in patterns for part in ("--class", pattern)]
        return _answers.top(_binary.run_json(["top", self.path, f"-n{count}", *options]))

    def objects(self, filter: str = "", count: int = 1000) -> pl.DataFrame:
        """The objects that pass a filter, or groups of them, in the language of `heaplake query`.

        Columns: those of `select`; otherwise `retained`, `shallow`, `node`, `class` and `name`, for groups `count`,
        `sum(shallow)`, `sum(retained)` and the terms. Numbers are Int64; `id` is UInt64. `count` bounds the rows, like
        `limit` in the filter. Raises `UsageError` with the column of an error in the filter.

        >>> run.objects('class ~ "^Session" and retained > 1kB')
        >>> run.objects("detached group by class order by count desc")
        """
        return _answers.objects(_binary.run_json(["query", self.path, filter, f"-n{count}"]))

    def why(self, node: int | str, *, paths: int | None = None) -> pl.DataFrame:
        """What keeps an object alive: a shortest path from a root, and its dominators. One row per step.

        `node` is a number of the table `nodes`, or `@` and the id of the format. `paths` asks for that many shortest
        paths. Columns: `relation` (`path` or `dominators`), `path` (from 0), `step` (from 0; a gap where the middle is
        left out), `edge` (that leads here; null where it is unknown), `node`, `id`, `class`, `name`, `shallow_bytes`,
        `retained_bytes`, `distance`. Paths need a run with the table `edges`.

        >>> run.why("@1462621").filter(relation="path").select("edge", "class", "retained_bytes")
        """
        more = [] if paths is None else [f"--paths={paths}"]
        return _answers.why(_binary.run_json(["why", self.path, str(node), *more]))

    def dominators(self, node: int | str | None = None, *, depth: int = 3, children: int = 10) -> pl.DataFrame:
        """The dominator tree below an object, or below the root: one row per object, in preorder.

        Columns: `depth` (0 is the object itself), `parent` (its node), `node`, `id`, `class`, `name`, `shallow_bytes`,
        `retained_bytes`, `distance`, `others` (more that it dominates immediately), `others_retained_bytes`.

        >>> run.dominators(depth=2, children=3).select("depth", "class", "retained_bytes")
        """
        of = [] if node is None else [str(node)]
        return _answers.dominators(
            _binary.run_json(["dominators", self.path, *of, f"--depth={depth}", f"--children={children}"])
        )

    def _repr_html_(self) -> str:
        return _shown(self)

    def __repr__(self) -> str:
        what = f"{self.nodes:,} nodes" if self.nodes is not None else f"{self.allocations:,} allocations"
        return f"<Run release={self.release} snapshot={self.snapshot}: {self.format}, {what}>"


def _shown(run: Run) -> str:
    """A run: its description, findings and largest classes."""
    summary = run.metadata["summary"]
    parts = [
        f"<h4 style='margin:4px 0'>{_html.name(run.snapshot)}</h4>",
        _html.table(None, [[_html.text(fact), _html.text(said)] for fact, said in _facts(run)]),
    ]
    findings = summary["findings"]
    if findings:
        parts.append(_html.title(f"Findings ({len(findings)})"))
        parts += [_finding(finding) for finding in findings[:_FINDINGS]]
    if run.nodes is not None and summary["classes"]:
        parts.append(_html.title("Largest classes by retained size"))
        rows = [
            [
                _html.name(found["class"]),
                f"{found['count']:,}",
                size(found["shallow_bytes"]),
                size(found["retained_bytes"]),
            ]
            for found in summary["classes"][:_CLASSES]
        ]
        parts.append(_html.table(["class", "count", "shallow", "retained"], rows))
    return "<div>" + "".join(parts) + "</div>"


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    yield "release", run.release
    yield "format", run.format
    yield from run.labels.items()
    if run.captured_at is not None:
        yield "captured", f"{run.captured_at:%Y-%m-%d %H:%M} UTC"
    if run.nodes is not None:
        yield "heap", f"{size(run.heap_bytes or 0)} in {run.nodes:,} objects"
    if run.allocations is not None:
        yield "allocated", f"{size(run.allocated_bytes or 0)} in {run.allocations:,} objects"
    if run.partial is not None:
        yield "partial", run.partial


def _finding(finding: dict[str, str]) -> str:
    severity = finding["severity"].lower()
    said = _html.text(finding["message"])
    step = finding.get("next_step") or ""
    after = f"<br><span style='opacity:.75'>→ {_html.text(step)}</span>" if step else ""
    return f"<p style='margin:4px 0'>{_html.coloured(severity.upper(), severity)} {said}{after}</p>"


def run_table(name: str) -> _tables.Table:
    """A table of runs. Raises `KeyError` with the nearest names."""
    table = _tables.tables().get(name)
    if table is None or not table.of_runs:
        raise KeyError(_answers.unknown(name, [t.name for t in _tables.tables().values() if t.of_runs]))
    return table


def to_pandas(frame: pl.LazyFrame) -> pd.DataFrame:
    """A frame in pandas with the types of Arrow."""
    needed("pandas", "pandas")
    needed("pyarrow", "pandas")
    return frame.collect().to_pandas(use_pyarrow_extension_array=True)
