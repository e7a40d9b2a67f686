"""A real cluster on loopback, and ways to hurt it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import heaplake

__all__ = [
    "LOOPBACK",
    "alive",
    "autoscaling_cluster",
    "fleet",
    "parent",
    "real_cluster",
    "started",
    "stopping_binary",
    "until",
    "verify",
]

# Not 127.0.0.1, which Ray takes for the address of the machine in its network.
LOOPBACK = "127.0.0.2"

# Heads tell nobody that they are used, and want no token of the user's.
_RAY = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}


@contextmanager
def real_cluster(nodes: int = 2, cores: int = 1, memory: int = 1 << 30, scratch: int | None = 2000) -> Iterator[Any]:
    """A head without cores and so many nodes, each with processes of its own. `scratch` is what a node declares, in MiB."""
    os.environ.update(_RAY)
    from ray.cluster_utils import Cluster

    common = {"node_ip_address": LOOPBACK, "object_store_memory": 80 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **common})
    try:
        resources = {} if scratch is None else {"heaplake_scratch": scratch}
        for _ in range(nodes):
            cluster.add_node(num_cpus=cores, memory=memory, resources=resources, **common)
        yield cluster
    finally:
        cluster.shutdown()


def _command(cluster: Any, words: tuple[Any, ...]) -> list[str]:
    address = [] if cluster is None else ["--address", cluster.address]
    return [sys.executable, "-m", "heaplake.fleet", "analyze", *map(str, words), *address]


def _environment(binary: Path | None) -> dict[str, str]:
    own = _RAY if binary is None else {**_RAY, "HEAPLAKE_BINARY": str(binary)}
    return {**os.environ, "PYTHONPATH": str(Path(heaplake.__file__).parent.parent), **own}


def started(cluster: Any, *words: Any, binary: Path | None = None, folder: Path | None = None) -> subprocess.Popen[str]:
    """A driver at work."""
    return subprocess.Popen(
        _command(cluster, words),
        env=_environment(binary),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def fleet(
    cluster: Any, *words: Any, code: int = 0, binary: Path | None = None, folder: Path | None = None
) -> tuple[list[dict[str, Any]], str]:
    """`heaplake fleet analyze ... --json`: its rows, and what it wrote to standard error."""
    driver = started(cluster, *words, "--json", binary=binary, folder=folder)
    out, errors = driver.communicate(timeout=240)
    assert driver.returncode == code, errors
    return json.loads(out), errors


def verify(lake: Path, *, killed: bool = False) -> dict[str, Any]:
    """`heaplake lake verify`, which must find nothing wrong; the runs by name. Unfinished tables may be left by a process
    that was `killed` and not started again."""
    found = heaplake._binary.run_json(["lake", "verify", lake])
    assert all(run["status"] == "whole" for run in found["runs"]), found
    left = [path for path in lake.glob(".heaplake-new/**/*") if path.is_file()]
    assert killed or not left, left
    return {Path(run["path"]).name: run for run in found["runs"]}


def until(done: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Waits until something holds; what it is."""
    end = time.monotonic() + seconds
    while not (found := done()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
    return found


def parent(pid: int) -> int:
    """The process that started another one."""
    return int(re.sub(r"^.*\) ", "", Path(f"/proc/{pid}/stat").read_text()).split()[1])


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return not re.search(r"\) [ZX] ", Path(f"/proc/{pid}/stat").read_text())
    except OSError:
        return False


# Stops the binary once it writes tables, and tells the test. $$ keeps its number when the shell becomes the binary.
_STOPPING = """#!/bin/sh
case "$*" in
analyze*{name}*)
    if mkdir {folder}/once 2>/dev/null; then
        pid=$$
        (
            exec >/dev/null 2>&1
            while kill -0 $pid; do
                if ls -l /proc/$pid/fd | grep -q '[.]heaplake-new/.*parquet'; then
                    kill -STOP $pid
                    echo $pid > {folder}/stopped.new
                    exec mv {folder}/stopped.new {folder}/stopped
                fi
            done
        ) &
    fi
esac
exec {binary} "$@"
"""


def stopping_binary(folder: Path, name: str) -> tuple[Path, Callable[[], int]]:
    """A binary that stops for good in the middle of the first analysis of an input with `name`; and what waits until it
    has stopped, for its process."""
    program = folder / "heaplake"
    program.write_text(_STOPPING.format(name=name, folder=folder, binary=heaplake.binary()))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program, lambda: int(until(lambda: (folder / "stopped").exists() and (folder / "stopped").read_text()))


def kill(pid: int) -> None:
    """What cannot be caught."""
    os.kill(pid, signal.SIGKILL)


# Ray's provider of nodes for tests, with nodes on loopback.
_PROVIDER = """
import json, os, subprocess, sys
from ray.autoscaler._private.fake_multi_node.node_provider import FakeMultiNodeProvider
from ray.autoscaler.tags import TAG_RAY_NODE_NAME, TAG_RAY_USER_NODE_TYPE

class Provider(FakeMultiNodeProvider):
    def _create_node_with_resources_and_labels(self, node_config, tags, count, resources, labels):
        name = self._next_hex_node_id()
        resources = dict(resources)
        words = ["--num-cpus", str(resources.pop("CPU")), "--memory", str(resources.pop("memory"))]
        words += ["--object-store-memory", str(80 << 20), "--resources", json.dumps(resources)]
        words += ["--address", self._gcs_address, "--node-ip-address", "127.0.0.2", "--block"]
        own = {"RAY_OVERRIDE_NODE_ID_FOR_TESTING": name, "RAY_CLOUD_INSTANCE_ID": name}
        process = subprocess.Popen([sys.executable, "-m", "ray.scripts.scripts", "start", *words], env=os.environ | own)
        self._nodes[name] = {"tags": {**tags, TAG_RAY_NODE_NAME: name}, "node": process}

    def _terminate_node(self, node):
        node["node"].terminate()
"""


class _Head:
    def __init__(self, address: str) -> None:
        self.address = address


@contextmanager
def autoscaling_cluster(folder: Path, workers: int = 2) -> Iterator[Any]:
    """A head without cores, whose autoscaler adds nodes of 1 GiB for tasks that wait."""
    import psutil

    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        port = free.getsockname()[1]
    (folder / "heaplake_nodes.py").write_text(_PROVIDER)
    node = {"CPU": 1, "memory": 1 << 30, "heaplake_scratch": 2000}
    commands = ("initialization", "setup", "head_setup", "worker_setup", "head_start_ray", "worker_start_ray")
    config = {
        "cluster_name": "test",
        "max_workers": workers,
        "upscaling_speed": 1.0,
        "idle_timeout_minutes": 5,
        "provider": {
            "type": "external",
            "module": "heaplake_nodes.Provider",
            "gcs_address": f"{LOOPBACK}:{port}",
            "head_node_id": 51 * "f" + "00000",
        },
        "available_node_types": {
            "head": {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0},
            "worker": {"resources": node, "node_config": {}, "min_workers": 0, "max_workers": workers},
        },
        "head_node_type": "head",
        "docker": {},
        **{name: {} for name in ("head_node", "worker_nodes", "file_mounts", "auth")},
        **{f"{name}_commands": [] for name in commands},
        **{name: [] for name in ("cluster_synced_files", "rsync_exclude", "rsync_filter")},
        "file_mounts_sync_continuously": False,
    }
    (folder / "autoscaling.yaml").write_text(json.dumps(config))
    words = ["--head", "--block", "--num-cpus=0", f"--port={port}", f"--node-ip-address={LOOPBACK}"]
    words += ["--include-dashboard=False", f"--object-store-memory={80 << 20}"]
    words += [f"--autoscaling-config={folder / 'autoscaling.yaml'}"]
    own = {"AUTOSCALER_UPDATE_INTERVAL_S": "1", "RAY_FAKE_CLUSTER": "1", **_RAY}
    environment = {**os.environ, **own, "PYTHONPATH": str(folder)}
    with (folder / "head.log").open("wb") as log:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", *words]
        head = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        until(lambda: _answers(port) and head.poll() is None)
        yield _Head(f"{LOOPBACK}:{port}")
    finally:
        # Its own processes and no others: `ray stop` ends all of the machine.
        all_of_it = [*psutil.Process(head.pid).children(recursive=True), psutil.Process(head.pid)]
        head.terminate()
        for process in psutil.wait_procs(all_of_it, timeout=10)[1]:
            process.kill()


def _answers(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex((LOOPBACK, port)) == 0
