"""Jobs of the driver: what each asks for, and what another try needs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from heaplake.cluster._plan import Demand, Limits, Plan, Wish

__all__ = ["HELD_TRIES", "Batch", "Job", "held_again", "next_try", "row_of"]

# Failures that another try may mend, and what it needs for that.
_MENDS: dict[str, Literal["memory", "scratch", "time"]] = {
    "memory": "memory",
    "killed": "memory",
    "disk": "scratch",
    "threads": "time",
    "lost": "time",
    # By somebody else than the driver: its node shuts down.
    "interrupted": "time",
}

# A run that another process is making is asked for again after so many seconds, up to so many times: that process may be
# a task whose driver died, or another command. These are no retries.
_HELD_PAUSE_S = (0.5, 1, 2, 4, 8, 15, 30)
HELD_TRIES = 40

# Before another try of any other failure.
_PAUSE_S = 0.5


@dataclass(frozen=True)
class Batch:
    """What is asked for."""

    inputs: Sequence[str]
    lake: str
    # Options of `analyze`, `--out` among them, without memory and threads.
    options: Sequence[str]
    # Those of them that `plan` takes too.
    plan_options: Sequence[str]
    binary: str
    # Where relative names begin.
    folder: str
    memory: int | None = None
    cores: int | None = None
    retries: int = 3
    in_flight: int | None = None
    most_memory: int | None = None
    scratch_per_node: int | None = None
    # How long an input waits for a node that can take it; None: as long as the cluster suggests. Seconds.
    wait: float | None = None
    # How long a task may take; None: as long as it likes. Seconds.
    time_limit: float | None = None


@dataclass
class Job:
    """An input on its way to a run."""

    number: int
    plan: Plan
    # What another try asks for; None at the first, whose wish follows from the plan.
    wish: Wish | None = None
    # What the task asks Ray for, or asked for last.
    demand: Demand | None = None
    attempt: int = 1
    held: int = 0
    ran_out: bool = False
    not_before: float = 0.0
    # Since when no node has what it needs.
    unfit_since: float | None = None
    # The state of its file before the task began.
    state: list[int] | None = None


def held_again(job: Job) -> Job | None:
    """The job, once more when another process may have made its run; None if that took too often."""
    if job.held >= HELD_TRIES:
        return None
    pause = _HELD_PAUSE_S[min(job.held, len(_HELD_PAUSE_S) - 1)]
    return replace(job, held=job.held + 1, not_before=time.monotonic() + pause)


def next_try(job: Job, kind: str, retries: int, wish: Wish, limits: Limits | None, most: int | None) -> Job | None:
    """The same job with what it lacked; None if another try is in vain, or one too many. `limits` are those of a cluster
    that does not grow."""
    mend = _MENDS.get(kind)
    if mend is None or job.attempt > retries or job.demand is None:
        return None
    new: Wish | None = wish
    if mend == "memory":
        new = wish.with_more_memory(job.demand.memory, most)
        if new is not None and limits is not None and limits.memory <= job.demand.memory:
            new = None
        elif new is not None and limits is not None and limits.memory < new.least.memory:
            new = replace(new, least=replace(new.least, memory=limits.memory))
        if new is None and kind == "killed":
            new = wish
    elif mend == "scratch":
        new = wish.with_more_scratch()
    if new is None:
        return None
    ran_out = job.ran_out or mend == "memory"
    later = time.monotonic() + _PAUSE_S
    return replace(job, wish=new, attempt=job.attempt + 1, ran_out=ran_out, not_before=later, unfit_since=None)


def row_of(job: Job, demand: Demand, **fields: Any) -> dict[str, Any]:
    """The row of a job that has no other."""
    row = {
        "input": job.plan.input,
        "status": "failed",
        "seconds": 0.0,
        "memory_bytes": demand.memory,
        "scratch_bytes": demand.scratch,
        "cores": demand.cores,
        "attempts": job.attempt,
    }
    return {**row, **fields}
