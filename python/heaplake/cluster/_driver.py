"""The driver: hands snapshots to the cluster, at most so many at a time, and tries again what may succeed then."""

from __future__ import annotations

import os
import time
from collections import deque
from typing import Any

from heaplake.cluster import _plan
from heaplake.cluster._ahead import Ahead
from heaplake.cluster._jobs import Batch, Job, held_again, next_try, row_of
from heaplake.cluster._ledger import Ledger
from heaplake.cluster._manifest import Manifest
from heaplake.cluster._observed import Observed
from heaplake.cluster._placement import Placement
from heaplake.cluster._plan import Demand, Wish
from heaplake.cluster._ray import Cluster, Lost
from heaplake.cluster._sizes import shown
from heaplake.cluster._tell import Teller

__all__ = ["Driver"]

# A committed run must be seen from here; a network file system may take its time.
_SEEN_WITHIN_S = 10.0

# How long interrupted tasks may take to end.
_STOP_S = 15.0

# Inputs that are looked at between two looks at the cluster.
_AT_ONCE = 256


class Driver:
    """Works through a batch on a cluster."""

    def __init__(
        self, batch: Batch, cluster: Cluster, manifest: Manifest, teller: Teller, ledger: Ledger | None = None
    ) -> None:
        """Without a ledger, each input is a task."""
        self._batch, self._cluster, self._manifest, self._teller = batch, cluster, manifest, teller
        self._ledger = ledger
        self._placement = Placement(batch, cluster)
        self._observed = Observed()
        self._waiting: deque[Job] = deque()
        self._running: dict[Any, Job] = {}
        self._known = 0
        self._more = True
        self._warned = False

    @property
    def not_started(self) -> int:
        """Inputs of which there is no row."""
        return self._known - len(self._manifest.rows)

    def work(self) -> None:
        """Does all inputs. Raises `KeyboardInterrupt` when interrupted, after the tasks have ended."""
        plans = Ahead(_plan.plans(self._batch.binary, self._batch.inputs, self._batch.plan_options))
        try:
            while self._more or self._waiting or self._running:
                self._placement.refresh()
                self._take(plans)
                self._submit()
                self._replace()
                self._collect()
                self._progress()
        except KeyboardInterrupt:
            self._cluster.stop(list(self._running), _STOP_S)
            self._save()
            raise
        finally:
            plans.close()

    def _take(self, plans: Ahead) -> None:
        """Takes plans while there is room for their tasks."""
        for _ in range(_AT_ONCE):
            if not self._more or len(self._waiting) >= 2 * self._placement.in_flight:
                return
            try:
                plan = plans.next(wait=not self._waiting and not self._running)
            except StopIteration:
                self._more = False
                return
            if plan is None:
                return
            job = Job(self._known, plan)
            self._known += 1
            run = None if plan.failure is not None or self._ledger is None else self._ledger.run(plan.input)
            if plan.failure is not None:
                self._end(job, row_of(job, self._wish(job).wanted, **{"attempts": 0, **plan.failure}))
            elif run is not None:
                self._end(job, {"input": plan.input, "status": "unchanged", "run": run, **_NO_TASK})
            else:
                self._waiting.append(job)

    def _wish(self, job: Job) -> Wish:
        """What a job asks for: at its first try what the plan says, and inputs like it took."""
        if job.wish is not None:
            return job.wish
        batch, plan = self._batch, job.plan
        memory = batch.memory
        if memory is not None:
            memory = max(memory, self._observed.needed(plan) or 0)
        return _plan.wish(plan, memory, batch.cores, seen=self._observed.memory(plan), most=batch.most_memory)

    def _submit(self) -> None:
        """Hands jobs to the cluster, in their order as far as they may start. Jobs that no node can take go to Ray too:
        an autoscaler adds nodes for tasks that wait there."""
        now = time.monotonic()
        later: list[Job] = []
        unfit = sum(job.unfit_since is not None for job in self._running.values())
        fit = len(self._running) - unfit
        while self._waiting and fit < self._placement.in_flight:
            job = self._waiting.popleft()
            if job.not_before > now:
                later.append(job)
                continue
            wish = self._wish(job)
            demand = self._placement.demand(job, wish, now)
            if job.unfit_since is None and self._has_scratch(demand):
                fit += 1
            elif job.unfit_since is not None and self._placement.is_hopeless(job, wish, now):
                self._end_unfit(job, wish)
                continue
            elif job.unfit_since is not None and unfit < self._placement.in_flight:
                unfit += 1
            else:
                later.append(job)
                continue
            self._start(job, demand)
        self._waiting.extendleft(reversed(later))

    def _start(self, job: Job, demand: Demand) -> None:
        job.demand = demand
        job.state = None if self._ledger is None else self._ledger.state(job.plan.input)
        task = self._cluster.start(
            {
                "input": job.plan.input,
                "binary": self._batch.binary,
                "folder": self._batch.folder,
                "options": list(self._batch.options),
                "memory_bytes": demand.memory,
                "scratch_bytes": demand.scratch,
                "cores": demand.cores,
                "attempt": job.attempt,
                "seconds": self._batch.time_limit,
            },
            demand,
        )
        self._running[task] = job

    def _has_scratch(self, demand: Demand) -> bool:
        """Whether there is scratch for one more where nodes do not declare it; a job alone always has."""
        bound = self._placement.scratch_bound
        if bound is None or not self._running:
            return True
        taken = sum(job.demand.scratch for job in self._running.values() if job.demand is not None)
        return taken + demand.scratch <= bound

    def _replace(self) -> None:
        """Takes back tasks that no node can take: they ask for less if that helps, or end."""
        now = time.monotonic()
        for task, job in list(self._running.items()):
            wish = self._wish(job)
            if job.demand is None or not self._placement.is_stuck(job, now):
                continue
            is_hopeless = self._placement.is_hopeless(job, wish, now)
            if not is_hopeless and self._placement.demand(job, wish, now) == job.demand:
                continue
            self._cluster.cancel(task)
            del self._running[task]
            if is_hopeless:
                self._end_unfit(job, wish)
            else:
                self._waiting.appendleft(job)
        unfit = [job for job in (*self._running.values(), *self._waiting) if job.unfit_since is not None]
        for told in self._placement.told(unfit, self._wish, now):
            self._teller.waits(*told)

    def _end_unfit(self, job: Job, wish: Wish) -> None:
        why = self._placement.lack(wish.least)
        error = f"no node can take {job.plan.input}: {why}"
        advice = "add a larger node, or wait longer for one with --wait"
        fields = {"kind": "infeasible", "error": error, "advice": advice, "exit_code": 3}
        self._end(job, row_of(job, wish.least, **fields, attempts=job.attempt - 1))

    def _collect(self) -> None:
        """Takes the rows of tasks that have ended."""
        if not self._running:
            if self._waiting:
                time.sleep(0.05)
            return
        for task in self._cluster.wait(list(self._running), 0.25):
            job = self._running.pop(task)
            assert job.demand is not None
            try:
                row = self._cluster.row(task)
            except Lost as lost:
                error = f"{job.plan.input}: the task was lost: {lost}"
                kind = "killed" if lost.memory else "lost"
                row = row_of(job, job.demand, kind=kind, exit_code=3, error=error, advice="run the same command again")
            self._ended(job, self._checked(job, row))

    def _save(self) -> None:
        """Takes the rows of tasks that succeeded before they were interrupted."""
        for task in self._cluster.wait(list(self._running), 0.0) if self._running else ():
            job = self._running.pop(task)
            try:
                row = self._cluster.row(task)
            except Lost:
                continue
            if row["status"] != "failed":
                self._end(job, row)

    def _ended(self, job: Job, row: dict[str, Any]) -> None:
        """A task ended: its input is done, or is tried again."""
        assert job.demand is not None
        if row["status"] != "failed":
            self._learn(job, row)
            self._end(job, row)
            return
        if row["kind"] == "held" and (again := held_again(job)) is not None:
            self._waiting.appendleft(again)
            return
        limits = self._placement.final_limits
        new = next_try(job, row["kind"], self._batch.retries, self._wish(job), limits, self._batch.most_memory)
        if new is None or new.wish is None:
            self._end(job, row)
            return
        wanted = new.wish.wanted if limits is None else new.wish.wanted.within(limits)
        change = f" with {shown(wanted.memory)} of memory" if wanted.memory > job.demand.memory else ""
        if wanted.scratch > job.demand.scratch:
            change = f" with {shown(wanted.scratch)} of scratch"
        self._teller.again(row, f"{row['error']}{change}")
        self._waiting.appendleft(new)

    def _learn(self, job: Job, row: dict[str, Any]) -> None:
        """Notes what an input took, and that it is in the lake."""
        assert job.demand is not None
        if row["status"] == "committed":
            if job.ran_out:
                self._observed.ran_out(job.plan, job.demand.memory)
            elif job.attempt == 1:
                self._observed.done(job.plan, row["peak_memory_bytes"])
        if self._ledger is not None:
            self._ledger.add(job.plan.input, job.state, row)

    def _end(self, job: Job, row: dict[str, Any]) -> None:
        self._manifest.add(job.number, row)
        self._teller.ended(row)

    def _checked(self, job: Job, row: dict[str, Any]) -> dict[str, Any]:
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

    def _progress(self) -> None:
        rows = self._manifest.rows
        failed = sum(row["status"] == "failed" for row in rows.values())
        self._teller.progress(len(rows), failed, len(self._running), self._known, self._more)
        if not self._warned and (warning := self._placement.scratch_warning()) is not None:
            self._warned = True
            self._teller.warn(warning)


_NO_TASK = {"seconds": 0.0, "attempts": 0, "exit_code": 0}
