"""Comparisons and rollups as Jupyter shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heaplake._html import _name, _table, _text, _title
from heaplake._words import size

if TYPE_CHECKING:
    from heaplake.comparison import Diff, Rollup

_ROWS = 8


def diff(diff: Diff) -> str:
    """Of each table what changed most, and the numbers of rows by status."""
    import polars as pl

    parts = []
    for name, delta in (("classes", "delta_retained_bytes"), ("findings", "delta_bytes")):
        frame = diff.frame(name).filter(pl.col("status") != "same")
        changed = frame.sort(pl.col(delta).abs(), descending=True, nulls_last=True).head(_ROWS).collect()
        if changed.is_empty():
            continue
        label = "class" if name == "classes" else "signature"
        rows = [[_name(row[label]), row["status"], _signed(row[delta])] for row in changed.iter_rows(named=True)]
        parts.append(_title(f"{name} that changed most") + _table([label, "status", "size"], rows))
    parts += [f"<p>{_text(remark)}</p>" for remark in diff.remarks]
    return f"<div>{''.join(parts) or '<p>nothing changed</p>'}</div>"


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
