"""HTML for Jupyter. Names from snapshots are data in it and never markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from heaplake._words import shortened, visible

#: Colours of severities.
COLOURS = {"high": "#c62828", "medium": "#b26a00", "low": "#546e7a"}
_CELL = "padding:2px 10px 2px 0;text-align:{};vertical-align:top"


def coloured(shown: str, severity: str) -> str:
    return f"<b style='color:{COLOURS.get(severity, 'inherit')}'>{text(shown)}</b>"


def title(shown: str) -> str:
    return f"<h5 style='margin:10px 0 2px'>{text(shown)}</h5>"


def table(titles: Sequence[str] | None, rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are markup already. Columns of numbers are set right by their titles."""
    right = {"count", "shallow", "retained", "objects", "size"}
    sides = ["right" if title in right else "left" for title in titles or ()]
    head = "".join(
        f"<th style='{_CELL.format(side)}'>{text(title)}</th>" for title, side in zip(titles or (), sides, strict=True)
    )
    body = []
    for row in rows:
        cells = zip(row, sides or ["left"] * len(row), strict=True)
        body.append("<tr>" + "".join(f"<td style='{_CELL.format(side)}'>{cell}</td>" for cell, side in cells) + "</tr>")
    first = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<table style='border-collapse:collapse'>{first}<tbody>{''.join(body)}</tbody></table>"


def name(text: str) -> str:
    return f"<code>{escape(shortened(visible(text), 80))}</code>" if text else ""


def text(text: str) -> str:
    return escape(visible(text))
