"""Which demands the nodes can take, and how long an input waits for a node that can take it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from heaplake.cluster._jobs import Batch, Job
from heaplake.cluster._plan import Demand, Limits, Wish
from heaplake.cluster._ray import Cluster

__all__ = ["Placement"]

# How long an input waits for a node that can take it, unless the user says how long: with an autoscaler until a machine
# has started, without one until a node has started again. Ray on this machine alone gets no other node.
_WAIT_SCALING_S = 600.0
_WAIT_FIXED_S = 60.0

# After this part of the time, a task asks for the least that it needs: no node type may have what it wants.
_MODEST = 0.25

# Ray reports the tasks of a dead node as lost within this time.
_SETTLE_S = 3.0

# What is waited for is said again so often.
_TELL_S = 60.0

# Tasks that wait or run at a time, for each core, and where cores may be added.
_PER_CORE = 4
_LEAST_SCALING = 64


class Placement:
    """What the nodes can take now."""

    def __init__(self, batch: Batch, cluster: Cluster) -> None:
        self._batch, self._cluster = batch, cluster
        self._limits: Limits | None = None
        self._given_up: list[Demand] = []
        self._told: float | None = None
        self.refresh()

    def refresh(self) -> None:
        """Reads the nodes again: they come and go."""
        self._cluster.refresh()
        limits = self._cluster.limits(self._batch.most_memory)
        if limits != self._limits:
            self._given_up.clear()
        self._limits = limits

    @property
    def final_limits(self) -> Limits | None:
        """What one task can have at most; None where larger nodes may come."""
        return self._limits if self._cluster.scales is False else None

    @property
    def in_flight(self) -> int:
        """Tasks that wait or run at a time."""
        least = _PER_CORE if self._cluster.scales is False else _LEAST_SCALING
        return self._batch.in_flight or max(_PER_CORE * self._cluster.cores, least)

    @property
    def wait(self) -> float:
        """How long an input waits for a node that can take it."""
        if self._batch.wait is not None:
            return self._batch.wait
        if self._cluster.is_local:
            return 0.0
        return _WAIT_FIXED_S if self._cluster.scales is False else _WAIT_SCALING_S

    @property
    def scratch_bound(self) -> int | None:
        """Scratch of all tasks together where nodes do not declare it; None where they do, or nobody says."""
        if self._cluster.declares_scratch or self._batch.scratch_per_node is None:
            return None
        return self._batch.scratch_per_node * max(len(self._cluster.workers), 1)

    def demand(self, job: Job, wish: Wish, now: float) -> Demand:
        """What a job asks Ray for now. Notes since when no node can take it."""
        if self._limits is not None:
            wanted, least = wish.wanted.within(self._limits), wish.least
            memory = max(wanted.memory, least.memory)
            cores = max(wanted.cores, least.cores)
            for demand in (
                replace(wanted, cores=cores, memory=memory),
                replace(wanted, cores=least.cores, memory=memory),
                replace(wanted, cores=least.cores, memory=least.memory),
            ):
                if self._cluster.fits(demand):
                    job.unfit_since = None
                    return demand
        if job.unfit_since is None:
            job.unfit_since = now
        is_modest = now - job.unfit_since > _MODEST * self.wait
        return replace(wish.least, scratch=wish.wanted.scratch) if is_modest else wish.wanted

    def is_stuck(self, job: Job, now: float) -> bool:
        """Whether no node can take a task that Ray has, so that it cannot be running either."""
        assert job.demand is not None
        if self._cluster.fits(job.demand):
            job.unfit_since = None
            return False
        if job.unfit_since is None:
            job.unfit_since = now
        return now - job.unfit_since >= min(_SETTLE_S, self.wait)

    def is_hopeless(self, job: Job, wish: Wish, now: float) -> bool:
        """Whether a job that no node can take has waited long enough, or one that needs no more has."""
        least = wish.least
        if any(one.cores <= least.cores and one.memory <= least.memory for one in self._given_up):
            return True
        if job.unfit_since is None or now - job.unfit_since < self.wait:
            return False
        self._given_up.append(least)
        return True

    def lack(self, least: Demand) -> str:
        """What a demand needs that no node has."""
        if self._limits is None:
            return "the cluster has no node with a core"
        both = f"it needs {least.cores} cores with this memory on one node"
        return self._limits.lack(least) or both

    def told(self, unfit: Sequence[Job], wish: Callable[[Job], Wish], now: float) -> Iterator[tuple[str, int, float]]:
        """What to say of the jobs that no node can take: once a minute, and not of nodes that were there just now."""
        waiting = [job for job in unfit if job.unfit_since is not None]
        if not waiting:
            self._told = None
            return
        oldest = min(waiting, key=lambda job: job.unfit_since or now)
        age = now - (oldest.unfit_since or now)
        if age < min(_SETTLE_S, self.wait / 2) or (self._told is not None and now - self._told < _TELL_S):
            return
        self._told = now
        more = "" if len(waiting) == 1 else f" and {len(waiting) - 1} more"
        yield f"{oldest.plan.input}{more}: {self.lack(wish(oldest).least)}", len(waiting), max(self.wait - age, 0.0)

    def scratch_warning(self) -> str | None:
        """What to say of nodes that do not declare their scratch."""
        cluster = self._cluster
        if not cluster.workers or cluster.declares_scratch or self._batch.scratch_per_node is not None:
            return None
        return (
            "the nodes do not declare their scratch, so nothing keeps tasks from filling it: start them with "
            f"--resources '{{\"heaplake_scratch\": {200 * 1024}}}' (MiB), or give --scratch-per-node"
        )
