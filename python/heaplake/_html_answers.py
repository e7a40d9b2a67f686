"""Comparisons and rollups as Jupyter shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heaplake._html import _name, _table, _text, _title
from heaplake._words import size

if TYPE_CHECKING:
    from heaplake.comparison import Diff, Rollup

_ROWS = 8


def diff(diff: Diff) -> str:
    """Of classes and findings what changed most, as the tables are ranked, without parts of other growth; the gates."""
    import polars as pl

    parts = []
    for name, label in (("classes", "class"), ("findings", "signature")):
        ranking = diff._table(name).measures[0]
        is_shown = pl.col("part_of").is_null() & (pl.col("status") != "same")
        changed = diff.frame(name).filter(is_shown, measure=ranking).head(_ROWS).collect()
        if changed.is_empty():
            continue
        rows = [[_name(row[label]), _became(row), _signed(row["delta_sum"])] for row in changed.iter_rows(named=True)]
        parts.append(_title(f"{name} that changed most") + _table([label, "status", "size"], rows))
    if diff.gates:
        gates = [[_name(gate.name), gate.outcome, f"{gate.failing:,} of {gate.rows:,} rows"] for gate in diff.gates]
        parts.append(_title("Gates") + _table(["gate", "outcome", "true of"], gates))
    parts += [f"<p>{_text(remark)}</p>" for remark in diff.remarks]
    return f"<div>{''.join(parts) or '<p>nothing changed</p>'}</div>"


def _became(row: dict[str, Any]) -> str:
    """The status, and on how many hosts if not on all."""
    of = row["target_hosts"] if row["target_hosts"] is not None else row["target_runs"]
    on = row["changed_on"]
    status: str = row["status"]
    return f"{status}, {on:,} of {of:,}" if on is not None and 0 < on < of else status


def rollup(rollup: Rollup) -> str:
    """The clusters, and the groups with their runs."""
    said = rollup.said
    clusters = [
        [
            _name(cluster["signature"]),
            f"{len(cluster['runs']):,}",
            f"{len(cluster['hosts']):,}",
            size(cluster["median_bytes"]),
        ]
        for cluster in said["clusters"][:_ROWS]
    ]
    groups = [
        [_text(group["format"]), _name(group["release"] or ""), f"{len(group['runs']):,}", _most(group)]
        for group in said["groups"]
    ]
    parts = []
    if clusters:
        parts.append(_title(f"Clusters ({len(said['clusters'])})"))
        parts.append(_table(["what holds it", "runs", "hosts", "size"], clusters))
    parts.append(_title("Groups") + _table(["format", "release", "runs", "largest heap"], groups))
    parts += [f"<p>{_text(remark)}</p>" for remark in rollup.remarks]
    return f"<div>{''.join(parts)}</div>"


def _most(group: dict[str, Any]) -> str:
    return size(max((run["bytes"] for run in group["runs"]), default=0))


def _signed(bytes: int | None) -> str:
    if bytes is None:
        return ""
    return f"{'+' if bytes > 0 else ''}{size(bytes)}"
