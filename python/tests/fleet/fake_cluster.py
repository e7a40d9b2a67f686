"""A cluster that is none, for the driver: its tasks end as they are told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from heaplake.cluster import _plan
from heaplake.cluster._driver import Driver
from heaplake.cluster._jobs import Batch
from heaplake.cluster._manifest import Manifest
from heaplake.cluster._plan import Demand, Limits, Plan
from heaplake.cluster._ray import Lost
from heaplake.cluster._sizes import MIB
from heaplake.cluster._tell import Teller

__all__ = ["LIMITS", "FakeCluster", "plan", "worked"]

LIMITS = Limits(cores=4, memory=1024 * MIB, scratch=1000 * MIB)


class FakeCluster:
    """A cluster whose tasks end, one a wait and the latest first, as they are told."""

    cores = 4
    workers = ({}, {})
    scales: bool | None = False
    is_local = False

    def __init__(
        self, answers: dict[str, list[Any]], declares_scratch: bool = True, limits: Limits | None = LIMITS
    ) -> None:
        self.answers, self.declares_scratch = answers, declares_scratch
        self.now = limits if declares_scratch or limits is None else Limits(limits.cores, limits.memory)
        self.cancelled: list[str] = []
        self.running: dict[int, tuple[dict[str, Any], Demand]] = {}
        self.started: list[tuple[str, Demand]] = []
        self.most = self.most_scratch = 0

    def limits(self, most_memory: int | None) -> Limits:
        return self.now

    def refresh(self) -> None:
        """Nodes come and go in subclasses."""

    def fits(self, demand: Demand) -> bool:
        return self.now is not None and self.now.lack(demand) is None

    def cancel(self, task: int) -> None:
        job, _ = self.running.pop(task)
        self.cancelled.append(job["input"])

    def start(self, job: dict[str, Any], demand: Demand) -> int:
        self.started.append((job["input"], demand))
        self.running[len(self.started)] = (job, demand)
        self.most = max(self.most, len(self.running))
        self.most_scratch = max(self.most_scratch, sum(demand.scratch for _, demand in self.running.values()))
        return len(self.started)

    def wait(self, tasks: Sequence[int], seconds: float) -> list[int]:
        fit = [task for task in tasks if self.fits(self.running[task][1])]
        return [max(fit)] if fit else []

    def row(self, task: int) -> dict[str, Any]:
        job, demand = self.running.pop(task)
        answers = self.answers.get(job["input"], [])
        answer = answers.pop(0) if answers else "committed"
        if isinstance(answer, Lost):
            raise answer
        row = {"input": job["input"], "attempts": job["attempt"], "memory_bytes": demand.memory, "exit_code": 0}
        row |= {"seconds": 1.0, "peak_memory_bytes": 1, "node": "n", "cores": demand.cores}
        row |= {"scratch_bytes": demand.scratch}
        if answer == "committed":
            return {**row, "status": "committed", "run": "s3://lake/run", "kind": None, "error": None, "advice": None}
        code = 3 if answer in ("memory", "disk") else 1
        return {**row, "status": "failed", "kind": answer, "error": f"{job['input']}: {answer}", "exit_code": code}


def worked(
    monkeypatch: pytest.MonkeyPatch, cluster: FakeCluster, plans: Iterable[Plan], **options: Any
) -> tuple[list[Any], Manifest]:
    monkeypatch.setattr(_plan, "plans", lambda *_: iter(plans))
    batch = Batch(inputs=["x"], lake="s3://lake", options=[], plan_options=[], binary="b", folder="/", **options)
    manifest = Manifest(None)
    Driver(batch, cluster, manifest, Teller(quiet=True, json_log=False, on_stdout=False)).work()  # type: ignore[arg-type]
    return manifest.in_order(), manifest


def plan(name: str, scratch: int = 100 * MIB) -> Plan:
    return Plan(name, nodes=10, resident_memory=100 * MIB, scratch=scratch)
