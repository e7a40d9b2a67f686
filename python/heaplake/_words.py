"""Numbers and names as people read them, as the binary prints them."""

from __future__ import annotations

import unicodedata


def size(bytes: float) -> str:
    """Bytes as text: `17.4 MiB`.

    >>> size(1536), size(-10)
    ('1.5 KiB', '-10 B')
    """
    value, unit = float(bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:,.0f} B" if unit == "B" else f"{value:,.1f} {unit}"


def visible(text: str) -> str:
    """A name from a snapshot with its control characters and marks of writing direction as escapes.

    >>> visible("a\\nb")
    'a\\\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == " " else _escape(c) for c in text)


def _escape(character: str) -> str:
    known = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    if unicodedata.category(character) == "Zs":
        return " "
    return known.get(character, f"\\u{{{ord(character):x}}}")


def shortened(text: str, length: int) -> str:
    """A text of at most `length` characters, its middle left out.

    >>> shortened("abcdefghij", 5)
    'ab…ij'
    """
    if len(text) <= length:
        return text
    kept = length - 1
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"
