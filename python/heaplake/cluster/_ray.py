"""The Ray cluster: joining or starting it, what its nodes have, tasks on it."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from heaplake._binary import UsageError
from heaplake.cluster import _autoscaler, _task
from heaplake.cluster._plan import OVERHEAD, Demand, Limits
from heaplake.cluster._sizes import MIB

__all__ = ["SCRATCH", "Cluster", "Lost"]

# The resource by which nodes declare their scratch, in MiB.
SCRATCH = "heaplake_scratch"

# A started Ray tells nobody that it is used, and looks like nothing but this command.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_LOG_TO_STDERR": "0",
}

# How long a head may take to answer.
_CONNECT_S = 10.0

_ADVICE = "give the address of a head that runs, HOST:PORT, or none to start Ray here"

# How old the list of nodes may be.
_REFRESH_S = 1.0


class Lost(Exception):
    """A task ended without an answer: its worker or its node died. `memory`: because the node had none left."""

    def __init__(self, why: str, memory: bool = False) -> None:
        super().__init__(why)
        self.memory = memory


class Cluster:
    """A Ray cluster that this process is connected to."""

    def __init__(self, address: str | None, scratch: str, scratch_per_node: int | None) -> None:
        """Joins the cluster at `address`, or at `RAY_ADDRESS`, or starts one of this machine alone.

        `scratch` is the folder whose free space counts as the scratch of this machine if it is started here.
        """
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        try:
            ray: Any = import_module("ray")
        except ImportError:
            raise UsageError(
                "fleet analyze needs Ray, which this Python does not have",
                advice="pip install 'heaplake[ray]'",
                exit_code=2,
            ) from None
        self._ray = ray
        address = address or os.environ.get("RAY_ADDRESS") or None
        options: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False, "configure_logging": True}
        if address is None:
            free = scratch_per_node if scratch_per_node is not None else _free(scratch)
            options |= {"include_dashboard": False, "resources": {SCRATCH: max(free // MIB, 1)}}
            if sys.platform == "linux":
                # Ray takes 127.0.0.1 for the address of the machine in its network, where nobody should reach it.
                options["_node_ip_address"] = "127.0.0.2"
        else:
            _knock(address)
            options["address"] = address
        try:
            ray.init(**options)
        except (ConnectionError, RuntimeError, ValueError, OSError) as problem:
            said = _first_line(problem) or type(problem).__name__
            raise UsageError(
                f"{address or 'Ray on this machine'}: cannot connect: {said}",
                advice=_ADVICE if address is None else f"{_ADVICE}; set RAY_AUTH_MODE=token if the head wants a token",
                exit_code=2,
            ) from None
        # By value: nodes need Ray and the binary, and may have another version of this package, or none.
        ray.cloudpickle.register_pickle_by_value(_task)
        self._analyze = ray.remote(max_retries=0)(_task.analyze)
        self.is_local = address is None
        self._scales: bool | None = False if self.is_local else None
        self._read_at = 0.0
        self.nodes: list[dict[str, float]] = []
        self.refresh()

    def refresh(self) -> None:
        """Reads again which nodes there are, once a second at most."""
        now = time.monotonic()
        if self.nodes and now - self._read_at < _REFRESH_S:
            return
        self._read_at = now
        self.nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if self._scales is None:
            self._scales = _autoscaler.scales(self._ray)

    @property
    def scales(self) -> bool | None:
        """Whether an autoscaler adds nodes; None if that is not known."""
        return self._scales

    @property
    def workers(self) -> list[dict[str, float]]:
        """What each node has that can run a task."""
        return [node for node in self.nodes if node.get("CPU", 0) >= 1]

    @property
    def declares_scratch(self) -> bool:
        """Whether nodes say how much scratch they have."""
        return any(SCRATCH in node for node in self.nodes)

    @property
    def cores(self) -> int:
        """Cores of all nodes together."""
        return int(sum(node.get("CPU", 0) for node in self.nodes))

    def limits(self, most_memory: int | None) -> Limits | None:
        """What one task can have at most; None where no node can run any."""
        workers = self.workers
        if not workers:
            return None
        memory = int(max(node.get("memory", 0) for node in workers)) - OVERHEAD
        scratch = int(max(node.get(SCRATCH, 0) for node in workers)) * MIB if self.declares_scratch else None
        return Limits(
            cores=int(max(node["CPU"] for node in workers)),
            memory=memory if most_memory is None else min(memory, most_memory),
            scratch=scratch,
        )

    def fits(self, demand: Demand) -> bool:
        """Whether a node could take a task if it did nothing else."""
        resources = self._resources(demand)
        return any(all(node.get(name, 0) >= size for name, size in resources.items()) for node in self.workers)

    def _resources(self, demand: Demand) -> dict[str, float]:
        resources: dict[str, float] = {"CPU": demand.cores, "memory": demand.memory + OVERHEAD}
        if self.declares_scratch and demand.scratch:
            resources[SCRATCH] = -(-demand.scratch // MIB)
        return resources

    def start(self, job: dict[str, Any], demand: Demand) -> Any:
        """Hands a job to the cluster; what stands for its row. The task is named by its input."""
        resources = self._resources(demand)
        options: dict[str, Any] = {"num_cpus": resources.pop("CPU"), "memory": resources.pop("memory")}
        return self._analyze.options(name=f"heaplake {job['input']}", resources=resources, **options).remote(job)

    def cancel(self, task: Any) -> None:
        """Takes a task back; one that runs is interrupted."""
        self._ray.cancel(task)

    def wait(self, tasks: Sequence[Any], seconds: float) -> list[Any]:
        """The tasks that have ended, after so many seconds at the latest."""
        ready, _ = self._ray.wait(list(tasks), num_returns=len(tasks), timeout=0)
        if not ready:
            ready, _ = self._ray.wait(list(tasks), num_returns=1, timeout=seconds)
        return list(ready)

    def row(self, task: Any) -> dict[str, Any]:
        """The row of a task that has ended. Raises `Lost` if there is none."""
        errors = self._ray.exceptions
        try:
            row: dict[str, Any] = self._ray.get(task)
            return row
        except errors.RayTaskError as problem:
            # An exception on the node: its disk is full, for instance, or the task was interrupted.
            raise Lost(f"{type(problem.cause).__name__}: {_first_line(problem.cause)}") from None
        except errors.OutOfMemoryError:
            raise Lost("its node had no memory left", memory=True) from None
        except errors.RayError as problem:
            raise Lost(_why(problem)) from None

    def stop(self, tasks: Sequence[Any], seconds: float) -> None:
        """Interrupts tasks, and waits until they have ended, so many seconds at most."""
        for task in tasks:
            self._ray.cancel(task)
        if tasks:
            self._ray.wait(list(tasks), num_returns=len(tasks), timeout=seconds)

    def leave(self) -> None:
        """Closes the connection; a cluster that was started here ends."""
        self._ray.shutdown()


def _first_line(problem: BaseException) -> str:
    return next(iter(str(problem).splitlines()), "")


def _knock(address: str) -> None:
    """Refuses an address at which nobody answers; Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except OSError as problem:
        raise UsageError(
            f"{address}: cannot connect: {problem.strerror or problem}",
            advice=_ADVICE,
            exit_code=2,
        ) from None


def _why(problem: Exception) -> str:
    name = type(problem).__name__
    words = {
        "WorkerCrashedError": "its worker died",
        "NodeDiedError": "its node died",
        "LocalRayletDiedError": "its node died",
        "TaskUnschedulableError": "no node could take it",
        "TaskCancelledError": "it was cancelled",
    }
    return words.get(name, f"Ray lost it ({name})")


def _free(folder: str) -> int:
    """Free bytes where a folder is, or will be."""
    folder = os.path.abspath(folder)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return shutil.disk_usage(folder).free
