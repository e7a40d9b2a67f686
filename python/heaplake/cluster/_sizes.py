"""Sizes and times as people write and read them."""

from __future__ import annotations

import re

__all__ = ["GIB", "MIB", "parse", "seconds", "shown"]

MIB = 1 << 20
GIB = 1 << 30

_UNITS = {
    "": 1,
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)},
    **{letter: 1024**power for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)},
}


def parse(text: str) -> int:
    """Bytes of a size, as the binary reads it.

    >>> parse("512MiB"), parse("2 GB"), parse("1.5k")
    (536870912, 2000000000, 1536)
    """
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z]*)\s*", text)
    unit = _UNITS.get(found[2].lower()) if found else None
    if found is None or unit is None:
        raise ValueError(f"{text!r} is no size: a size is a number and B, KiB, MiB, GiB, KB, MB or GB")
    return int(float(found[1]) * unit)


_TIMES = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text: str) -> float:
    """Seconds of a time.

    >>> seconds("90"), seconds("10m"), seconds("1.5h")
    (90.0, 600.0, 5400.0)
    """
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", text)
    unit = _TIMES.get(found[2].lower()) if found else None
    if found is None or unit is None:
        raise ValueError(f"{text!r} is no time: a time is a number and s, m, h or d")
    return float(found[1]) * unit


def shown(size: float) -> str:
    """A size with one digit behind the point.

    >>> shown(512), shown(1536), shown(3 << 30)
    ('512 B', '1.5 KiB', '3.0 GiB')
    """
    if size < 1024:
        return f"{size:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} TiB"
