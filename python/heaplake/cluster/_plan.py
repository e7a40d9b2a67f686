"""What each snapshot takes, from `heaplake plan --each`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from heaplake._binary import error
from heaplake.cluster._sizes import MIB

__all__ = ["Demand", "Limits", "Plan", "demand", "plans"]

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


@dataclass(frozen=True)
class Demand:
    """What a task takes. Sizes are bytes; `memory` is the budget, without what the binary takes beside it."""

    cores: int
    memory: int
    scratch: int

    def with_more_memory(self, limits: Limits) -> Demand | None:
        """Twice the memory, or what there is; None if it has that already."""
        more = min(2 * self.memory, limits.memory)
        return replace(self, memory=more) if more > self.memory else None

    def with_more_scratch(self, limits: Limits) -> Demand:
        """Twice the scratch, or what there is."""
        return replace(self, scratch=min(2 * self.scratch, limits.scratch or 2 * self.scratch))


def demand(plan: Plan, limits: Limits, memory: int | None = None, cores: int | None = None) -> Demand:
    """What a plan asks for, within what nodes have. `memory` and `cores` win over the plan.

    >>> demand(Plan("a", nodes=10_000, resident_memory=20 * MIB), Limits(cores=8, memory=4096 * MIB))
    Demand(cores=1, memory=134217728, scratch=0)
    """
    if memory is None:
        doubt = DOUBT if plan.estimated else 1
        wanted = max(int(plan.resident_memory * doubt), plan.least_memory, LEAST)
        memory = min(-(-wanted // STEP) * STEP, limits.memory)
    if cores is None:
        cores = min(1 if plan.nodes <= ONE_CORE_NODES else 2, limits.cores)
    scratch = plan.scratch if limits.scratch is None else min(plan.scratch, limits.scratch)
    return Demand(cores=cores, memory=memory, scratch=scratch)


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
