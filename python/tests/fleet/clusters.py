"""A real cluster on loopback, and ways to hurt it."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import heaplake

__all__ = ["alive", "fleet", "parent", "real_cluster", "started", "stopping_binary", "until", "verify"]

# Not 127.0.0.1, which Ray takes for the address of the machine in its network.
LOOPBACK = "127.0.0.2"


@contextmanager
def real_cluster(nodes: int = 2, cores: int = 1, memory: int = 1 << 30, scratch: int | None = 2000) -> Iterator[Any]:
    """A head without cores and so many nodes, each with processes of its own. `scratch` is what a node declares, in MiB."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
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
    own = {} if binary is None else {"HEAPLAKE_BINARY": str(binary)}
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


def verify(lake: Path) -> dict[str, Any]:
    """`heaplake lake verify`, which must find nothing wrong; the runs by name."""
    found = heaplake._binary.run_json(["lake", "verify", lake])
    assert all(run["status"] == "whole" for run in found["runs"]), found
    left = [path for path in lake.glob(".heaplake-new/**/*") if path.is_file()]
    assert not left, left
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
