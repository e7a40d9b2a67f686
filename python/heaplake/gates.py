"""Gates of a comparison: conditions under which it does not pass, and what came of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

__all__ = ["FoundRow", "Gate"]

#: `failed`: its condition is true of a row. `unknown`: the comparison does not have its table, or some runs do not.
#: `undecided`: it asks for a statistic, and there are too few runs for one.
Outcome = Literal["passed", "failed", "unknown", "undecided"]


@dataclass(frozen=True)
class FoundRow:
    """A row of which the condition of a gate is true.

    - `subject`: what it is, for people; `signature`: the same in every run
    - `base`, `target`: its `measure` on a run, in the mean; `delta`: what the runs of the target have more
    - `percent`: the same in percent of the base; infinite if the base has nothing
    - `changed_on`: hosts of the target, or runs, on which it changed; `of`: runs of the target
    """

    subject: str
    signature: str
    status: str
    measure: str
    base: int | None
    target: int | None
    delta: int | None
    percent: float | None
    q: float | None
    changed_on: int | None
    of: int
    grew_through: str | None


@dataclass(frozen=True)
class Gate:
    """What came of a gate.

    - `rows`: rows of its table; `watched`: those that its conditions on texts choose
    - `failing`: rows of which its condition is true; `found`: the first of them
    - `undecided`: rows that it watches of which it cannot tell, since a number is null

    >>> diff = lake.diff("release=2.4.0", "release=2.4.1", fail_if=["retained_bytes.delta > 10MiB"])
    >>> [(gate.name, gate.outcome) for gate in diff.gates]
    """

    name: str
    table: str
    expression: str
    message: str | None
    outcome: Outcome
    rows: int
    watched: int
    failing: int
    undecided: int
    found: tuple[FoundRow, ...]

    @property
    def passed(self) -> bool:
        """Whether it lets the comparison pass."""
        return self.outcome == "passed"


def _gate(said: Mapping[str, Any]) -> Gate:
    found = tuple(_found(row) for row in said["found"])
    return Gate(**{field.name: said[field.name] for field in fields(Gate) if field.name != "found"}, found=found)


def _found(said: Mapping[str, Any]) -> FoundRow:
    row = {field.name: said[field.name] for field in fields(FoundRow)}
    # JSON has no infinite number.
    if row["percent"] is None and row["base"] == 0 and (row["delta"] or 0) > 0:
        row["percent"] = math.inf
    return FoundRow(**row)
