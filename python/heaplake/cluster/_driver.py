"""The driver: hands snapshots to the cluster, at most so many at a time, and tries again what may succeed then."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Literal

from heaplake._binary import HeaplakeError
from heaplake.cluster import _plan
from heaplake.cluster._manifest import Manifest
from heaplake.cluster._plan import Demand, Limits, Plan
from heaplake.cluster._ray import Cluster, Lost
from heaplake.cluster._sizes import shown
from heaplake.cluster._tell import Teller

__all__ = ["Batch", "Driver"]

# Failures that another try may mend, and what it needs for that.
_MENDS: dict[str, Literal["memory", "scratch", "time"]] = {
    "memory": "memory",
    "killed": "memory",
    "disk": "scratch",
    "threads": "time",
    "lost": "time",
}

# A run that another process is making is asked for again after so many seconds, up to so many times: that process may be
# a task whose driver died, or another command. These are no retries.
_HELD_PAUSE_S = (0.5, 1, 2, 4, 8, 15, 30)
_HELD_TRIES = 40

# A committed run must be seen from here; a network file system may take its time.
_SEEN_WITHIN_S = 10.0

# How long interrupted tasks may take to end.
_STOP_S = 15.0


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


@dataclass
class _Job:
    number: int
    plan: Plan
    demand: Demand
    attempt: int = 1
    held: int = 0
    not_before: float = field(default=0.0)


class Driver:
    """Works through a batch on a cluster."""

    def __init__(self, batch: Batch, cluster: Cluster, manifest: Manifest, teller: Teller) -> None:
        self._batch, self._cluster, self._manifest, self._teller = batch, cluster, manifest, teller
        self._limits: Limits = cluster.limits(batch.most_memory)
        self._in_flight = batch.in_flight or 4 * max(cluster.cores, 1)
        self._scratch_bound = None
        if not cluster.declares_scratch and batch.scratch_per_node is not None:
            self._scratch_bound = batch.scratch_per_node * len(cluster.nodes)
        self._waiting: deque[_Job] = deque()
        self._running: dict[Any, _Job] = {}
        self._known = 0
        self._more = True

    @property
    def not_started(self) -> int:
        """Inputs of which there is no row."""
        return self._known - len(self._manifest.rows)

    def work(self) -> None:
        """Does all inputs. Raises `KeyboardInterrupt` when interrupted, after the tasks have ended."""
        plans = _Ahead(_plan.plans(self._batch.binary, self._batch.inputs, self._batch.plan_options))
        try:
            while self._more or self._waiting or self._running:
                self._take(plans)
                self._submit()
                self._collect()
                self._progress()
        except KeyboardInterrupt:
            self._cluster.stop(list(self._running), _STOP_S)
            self._collect()
            raise

    def _take(self, plans: _Ahead) -> None:
        """Takes plans while there is room for their tasks."""
        while self._more and len(self._waiting) < 2 * self._in_flight:
            try:
                plan = plans.next(wait=not self._waiting and not self._running)
            except StopIteration:
                self._more = False
                return
            if plan is None:
                return
            number, self._known = self._known, self._known + 1
            demand = _plan.demand(plan, self._limits, self._batch.memory, self._batch.cores)
            job = _Job(number, plan, demand)
            if plan.failure is not None:
                self._end(job, {**self._row(job), "attempts": 0, **plan.failure})
            else:
                self._waiting.append(job)

    def _submit(self) -> None:
        """Hands jobs to the cluster, in their order as far as they may start."""
        now = time.monotonic()
        later: list[_Job] = []
        while self._waiting and len(self._running) < self._in_flight:
            job = self._waiting.popleft()
            if job.not_before > now or not self._has_scratch(job):
                later.append(job)
                continue
            task = self._cluster.start(
                {
                    "input": job.plan.input,
                    "binary": self._batch.binary,
                    "folder": self._batch.folder,
                    "options": list(self._batch.options),
                    "memory_bytes": job.demand.memory,
                    "scratch_bytes": job.demand.scratch,
                    "cores": job.demand.cores,
                    "attempt": job.attempt,
                },
                job.demand,
            )
            self._running[task] = job
        self._waiting.extendleft(reversed(later))

    def _has_scratch(self, job: _Job) -> bool:
        """Whether there is scratch for one more where nodes do not declare it; a job alone always has."""
        if self._scratch_bound is None or not self._running:
            return True
        taken = sum(running.demand.scratch for running in self._running.values())
        return taken + job.demand.scratch <= self._scratch_bound

    def _collect(self) -> None:
        """Takes the rows of tasks that have ended."""
        if not self._running:
            if self._waiting:
                time.sleep(0.05)
            return
        for task in self._cluster.wait(list(self._running), 0.25):
            job = self._running.pop(task)
            try:
                row = self._cluster.row(task)
            except Lost as lost:
                row = {**self._row(job), "kind": "killed" if lost.memory else "lost", "exit_code": 3}
                row |= {"error": f"{job.plan.input}: the task was lost: {lost}", "advice": "run the same command again"}
            self._ended(job, self._checked(job, row))

    def _ended(self, job: _Job, row: dict[str, Any]) -> None:
        """A task ended: its input is done, or is tried again."""
        if row["status"] != "failed":
            self._end(job, row)
        elif row["kind"] == "held" and job.held < _HELD_TRIES:
            pause = _HELD_PAUSE_S[min(job.held, len(_HELD_PAUSE_S) - 1)]
            self._again(replace(job, held=job.held + 1, not_before=time.monotonic() + pause))
        elif (next_try := self._next_try(job, row)) is not None:
            demand = next_try.demand
            change = "" if demand == job.demand else f" with {shown(demand.memory)} of memory"
            if demand.scratch > job.demand.scratch:
                change = f" with {shown(demand.scratch)} of scratch"
            self._teller.again(row, f"{row['error']}{change}")
            self._again(next_try)
        else:
            self._end(job, row)

    def _next_try(self, job: _Job, row: dict[str, Any]) -> _Job | None:
        """The same job with what it lacked; None if another try is in vain, or one too many."""
        mend = _MENDS.get(row["kind"])
        if mend is None or job.attempt > self._batch.retries:
            return None
        demand: Demand | None = job.demand
        if mend == "memory":
            demand = job.demand.with_more_memory(self._limits)
            if demand is None and row["kind"] == "killed":
                demand = job.demand
        elif mend == "scratch":
            demand = job.demand.with_more_scratch(self._limits)
        if demand is None:
            return None
        return replace(job, demand=demand, attempt=job.attempt + 1, not_before=time.monotonic() + 0.5)

    def _again(self, job: _Job) -> None:
        self._waiting.appendleft(job)

    def _end(self, job: _Job, row: dict[str, Any]) -> None:
        self._manifest.add(job.number, row)
        self._teller.ended(row)

    def _checked(self, job: _Job, row: dict[str, Any]) -> dict[str, Any]:
        """The row, of a run that is in this lake rather than in one of the same name on the node."""
        if row["status"] == "failed" or "://" in self._batch.lake:
            return row
        until = time.monotonic() + _SEEN_WITHIN_S
        run = os.path.join(self._batch.folder, row["run"])
        while not os.path.exists(os.path.join(run, "run.json")):
            if time.monotonic() > until:
                cause = f"{job.plan.input}: node {row['node']} committed {row['run']}, which is not in the lake here"
                advice = "let --out name a folder of a file system that all nodes share, or an object store"
                return {**row, "status": "failed", "kind": "file", "error": cause, "advice": advice, "exit_code": 1}
            os.listdir(self._batch.lake)
            time.sleep(0.1)
        return row

    def _row(self, job: _Job) -> dict[str, Any]:
        """The row of a job that has no other."""
        demand = job.demand
        return {
            "input": job.plan.input,
            "status": "failed",
            "seconds": 0.0,
            "memory_bytes": demand.memory,
            "scratch_bytes": demand.scratch,
            "cores": demand.cores,
            "attempts": job.attempt,
        }

    def _progress(self) -> None:
        rows = self._manifest.rows
        failed = sum(row["status"] == "failed" for row in rows.values())
        self._teller.progress(len(rows), failed, len(self._running), self._known, self._more)


class _Ahead:
    """Plans that a thread of its own takes from the binary, some ahead."""

    def __init__(self, plans: Iterator[Plan]) -> None:
        self._queue: SimpleQueue[Plan | HeaplakeError | None] = SimpleQueue()
        Thread(target=self._fill, args=(plans,), daemon=True).start()

    def _fill(self, plans: Iterator[Plan]) -> None:
        try:
            for plan in plans:
                self._queue.put(plan)
            self._queue.put(None)
        except HeaplakeError as problem:
            self._queue.put(problem)

    def next(self, wait: bool) -> Plan | None:
        """The next plan; None if it is not known yet. Raises `StopIteration` at the end."""
        try:
            plan = self._queue.get(timeout=0.25 if wait else 0)
        except Empty:
            return None
        if plan is None:
            raise StopIteration
        if isinstance(plan, HeaplakeError):
            raise plan
        return plan


def scratch_warning(cluster: Cluster, batch: Batch) -> str | None:
    """What to say of a cluster whose nodes do not declare their scratch."""
    if cluster.declares_scratch or batch.scratch_per_node is not None:
        return None
    return (
        "the nodes do not declare their scratch, so nothing keeps tasks from filling it: start them with "
        f"--resources '{{\"heaplake_scratch\": {200 * 1024}}}' (MiB), or give --scratch-per-node"
    )
