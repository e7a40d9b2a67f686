"""What each snapshot takes, from `heaplake plan --each`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from heaplake._binary import error
from heaplake.cluster._sizes import MIB, shown

__all__ = ["Demand", "Limits", "Plan", "Wish", "plans", "wish"]

# What the binary is on top of its budget: its program, its stacks.
OVERHEAD = 48 * MIB
# Budgets are multiples of this, and no smaller than the smallest that analyses any heap of a few megabytes in passing.
STEP = 16 * MIB
LEAST = 128 * MIB
# An estimate of nodes and edges may be that much too small.
DOUBT = 1.25
# Up to so many nodes one core does; larger inputs use two well.
ONE_CORE_NODES = 1_000_000


@dataclass(frozen=True)
class Plan:
    """What is known of an input before it is read. Sizes are bytes."""

    input: str
    bytes: int | None = None
    nodes: int = 0
    estimated: bool = False
    least_memory: int = 0
    resident_memory: int = 0
    scratch: int = 0
    # The row of an input that cannot be read, as far as it differs from that of a task.
    failure: dict[str, Any] | None = None


@dataclass(frozen=True)
class Limits:
    """What one task can have: the most that any node of the cluster has. Sizes are bytes, `memory` is a budget."""

    cores: int
    memory: int
    # None where nodes do not say how much scratch they have.
    scratch: int | None = None

    def lack(self, least: Demand) -> str | None:
        """What a demand needs and no node has; None if nothing.

        >>> Limits(cores=8, memory=1024 * MIB).lack(Demand(cores=1, memory=3200 * MIB, scratch=0))
        'it needs 3.1 GiB, the largest has 1.0 GiB'
        """
        if least.cores > self.cores:
            return f"it needs {least.cores} cores, the largest has {self.cores}"
        if least.memory > self.memory:
            return f"it needs {shown(least.memory)}, the largest has {shown(max(self.memory, 0))}"
        return None


@dataclass(frozen=True)
class Demand:
    """What a task takes. Sizes are bytes; `memory` is the budget, without what the binary takes beside it."""

    cores: int
    memory: int
    scratch: int

    def within(self, limits: Limits) -> Demand:
        """The same, cut down to what the largest node has."""
        scratch = self.scratch if limits.scratch is None else min(self.scratch, limits.scratch)
        return Demand(min(self.cores, limits.cores), min(self.memory, limits.memory), scratch)


@dataclass(frozen=True)
class Wish:
    """What a task asks for, and the least with which it can succeed."""

    wanted: Demand
    least: Demand

    def with_more_memory(self, before: int, most: int | None) -> Wish | None:
        """Twice the memory that it had, and more than that at least; None if it had the most that it may have."""
        more = 2 * before if most is None else min(2 * before, most)
        if more <= before:
            return None
        return Wish(replace(self.wanted, memory=more), replace(self.least, memory=min(before + STEP, more)))

    def with_more_scratch(self) -> Wish:
        """Twice the scratch, or what there is."""
        return replace(self, wanted=replace(self.wanted, scratch=2 * self.wanted.scratch))


def wish(
    plan: Plan, memory: int | None = None, cores: int | None = None, *, seen: int | None = None, most: int | None = None
) -> Wish:
    """What a plan asks for. `memory` and `cores` win over the plan; so does `seen`, the memory of like inputs. `most` is
    the most memory that a task may ask for.

    >>> wish(Plan("a", nodes=10_000, resident_memory=20 * MIB, least_memory=9 * MIB)).wanted
    Demand(cores=1, memory=134217728, scratch=0)
    """
    if memory is not None:
        wanted = least = memory
    else:
        doubt = DOUBT if plan.estimated else 1
        planned = max(int(plan.resident_memory * doubt), LEAST)
        wanted = _whole(max(planned if seen is None else seen, plan.least_memory))
        least = _whole(plan.least_memory)
    if most is not None:
        wanted, least = min(wanted, most), min(least, most)
    asked = cores or (1 if plan.nodes <= ONE_CORE_NODES else 2)
    return Wish(Demand(asked, wanted, plan.scratch), Demand(cores or 1, least, 0))


def _whole(size: int) -> int:
    return -(-size // STEP) * STEP


def plans(binary: str, inputs: Sequence[str], options: Sequence[str]) -> Iterator[Plan]:
    """The plan of each input, in the order in which `analyze` would take them, as soon as it is known.

    Only the beginning of an input is read. Raises `HeaplakeError` if the binary fails as a whole.
    """
    command = ["plan", "--each", *options, "--", *inputs]
    with subprocess.Popen(
        [binary, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            for line in process.stdout:
                yield _read(json.loads(line))
            errors = process.stderr.read()
        except GeneratorExit:
            process.kill()
            raise
    if process.returncode != 0:
        raise error(command, process.returncode, errors)


def _read(line: dict[str, Any]) -> Plan:
    if "error" in line:
        failure = {key: line[key] for key in ("kind", "error", "advice", "exit_code")}
        return Plan(line["input"], failure=failure)
    known = ("input", "bytes", "nodes", "estimated", "least_memory", "resident_memory", "scratch")
    return Plan(**{key: line[key] for key in known})
