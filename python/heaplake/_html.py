"""Runs and lakes as Jupyter shows them. Names from snapshots are data in it and never markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from heaplake._words import shortened, size, visible

if TYPE_CHECKING:
    from heaplake.lake import Lake
    from heaplake.run import Run

#: Rows of a lake that are shown, and findings and classes of a run.
_RUNS, _FINDINGS, _CLASSES = 20, 5, 8

_COLOURS = {"high": "#c62828", "medium": "#b26a00", "low": "#546e7a"}
_CELL = "padding:2px 10px 2px 0;text-align:{};vertical-align:top"


def run(run: Run) -> str:
    """A run: what it is, its findings, its largest classes."""
    summary = run.metadata["summary"]
    parts = [
        f"<h4 style='margin:4px 0'>{_name(run.snapshot)}</h4>",
        _table(None, [[_text(fact), _text(said)] for fact, said in _facts(run)]),
    ]
    findings = summary["findings"]
    if findings:
        parts.append(_title(f"Findings ({len(findings)})"))
        parts += [_finding(finding) for finding in findings[:_FINDINGS]]
    if run.nodes is not None and summary["classes"]:
        parts.append(_title("Largest classes by retained size"))
        rows = [
            [_name(found["class"]), f"{found['count']:,}", size(found["shallow_bytes"]), size(found["retained_bytes"])]
            for found in summary["classes"][:_CLASSES]
        ]
        parts.append(_table(["class", "count", "shallow", "retained"], rows))
    return "<div>" + "".join(parts) + "</div>"


def lake(lake: Lake) -> str:
    """A lake: its runs, a line each."""
    runs = lake.runs
    labels = sorted({key for run in runs for key in run.labels})
    titles = ["release", "snapshot", "format", *labels, "captured (UTC)", "objects", "size", "findings"]
    rows = [_line(run, labels) for run in runs[:_RUNS]]
    parts = [f"<h4 style='margin:4px 0'>{len(runs):,} run{'' if len(runs) == 1 else 's'}</h4>", _table(titles, rows)]
    if len(runs) > _RUNS:
        parts.append(f"<p>… and {len(runs) - _RUNS:,} more</p>")
    for folder, problem in lake.damaged:
        parts.append(f"<p><b style='color:{_COLOURS['high']}'>damaged</b> {_text(f'{folder.name}: {problem}')}</p>")
    return "<div>" + "".join(parts) + "</div>"


def _facts(run: Run) -> Iterable[tuple[str, str]]:
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


def _line(run: Run, labels: Sequence[str]) -> list[str]:
    objects = run.nodes if run.nodes is not None else run.allocations
    bytes = run.heap_bytes if run.heap_bytes is not None else run.allocated_bytes
    captured = "" if run.captured_at is None else f"{run.captured_at:%Y-%m-%d %H:%M}"
    counts = [("high", run.severities.high), ("medium", run.severities.medium), ("low", run.severities.low)]
    findings = ", ".join(_coloured(f"{count} {severity}", severity) for severity, count in counts if count)
    named = [_name(run.release), _name(run.snapshot), _text(run.format)]
    return [
        *named,
        *(_name(run.labels.get(key, "")) for key in labels),
        captured,
        f"{objects or 0:,}",
        size(bytes or 0),
        findings or "none",
    ]


def _finding(finding: dict[str, str]) -> str:
    severity = finding["severity"].lower()
    said = _text(finding["message"])
    step = finding.get("next_step") or ""
    after = f"<br><span style='opacity:.75'>→ {_text(step)}</span>" if step else ""
    return f"<p style='margin:4px 0'>{_coloured(severity.upper(), severity)} {said}{after}</p>"


def _coloured(text: str, severity: str) -> str:
    return f"<b style='color:{_COLOURS.get(severity, 'inherit')}'>{_text(text)}</b>"


def _title(text: str) -> str:
    return f"<h5 style='margin:10px 0 2px'>{_text(text)}</h5>"


def _table(titles: Sequence[str] | None, rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are markup already. Columns of numbers are set right by their titles."""
    right = {"count", "shallow", "retained", "objects", "size"}
    sides = ["right" if title in right else "left" for title in titles or ()]
    head = "".join(
        f"<th style='{_CELL.format(side)}'>{_text(title)}</th>" for title, side in zip(titles or (), sides, strict=True)
    )
    body = []
    for row in rows:
        cells = zip(row, sides or ["left"] * len(row), strict=True)
        body.append("<tr>" + "".join(f"<td style='{_CELL.format(side)}'>{cell}</td>" for cell, side in cells) + "</tr>")
    first = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<table style='border-collapse:collapse'>{first}<tbody>{''.join(body)}</tbody></table>"


def _name(text: str) -> str:
    return f"<code>{escape(shortened(visible(text), 80))}</code>" if text else ""


def _text(text: str) -> str:
    return escape(visible(text))
