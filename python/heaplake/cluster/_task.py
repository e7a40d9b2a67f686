"""What runs on a node: the binary, on one snapshot.

The functions here are sent to the nodes as they are, so they use nothing but the standard library. The binary commits the
run itself, in one step; only a row of the manifest goes back.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from typing import Any

__all__ = ["HELD", "analyze"]

# The kind of a row whose run another process is making right now: it is no failure of the input.
HELD = "held"

# What the binary says then.
_HELD_BY = ("another heaplake is making this run", "another heaplake is at work on this input")

# Becomes the binary, which the kernel kills with the worker that started it: a run whose task is lost must not go on
# beside the one that takes its place. The second argument is the worker: it may have died before this was asked for.
_GUARD = """
import ctypes, os, sys
if sys.platform == "linux":
    ctypes.CDLL(None, use_errno=True).prctl(1, 9, 0, 0, 0)
    if os.getppid() != int(sys.argv[1]):
        sys.exit(130)
os.execv(sys.argv[2], sys.argv[2:])
"""

# How long an interrupted run may take to end.
_GRACE_S = 10.0

# How often a process is looked at. Ray cannot interrupt a task that blocks in a system call.
_POLL_S = 0.05


def analyze(job: dict[str, Any]) -> dict[str, Any]:
    """Analyses a snapshot; the row of the manifest.

    `job` has `input`, `binary`, `folder` (where relative names begin), `options` (of `analyze`), and what the task has:
    `memory_bytes`, `cores`, `scratch_bytes`, `attempt`, and `seconds` that it may take, or None.
    """
    row: dict[str, Any] = {
        "input": job["input"],
        "status": "failed",
        "run": None,
        "seconds": 0.0,
        "peak_memory_bytes": None,
        "memory_bytes": job["memory_bytes"],
        "scratch_bytes": job["scratch_bytes"],
        "cores": job["cores"],
        "attempts": job["attempt"],
        "node": socket.gethostname(),
        "kind": None,
        "error": None,
        "advice": None,
        "exit_code": 0,
    }
    binary = _binary(job["binary"])
    if binary is None:
        row.update(
            kind="refused",
            error=f"{job['input']}: there is no program heaplake on node {row['node']}",
            advice="pip install heaplake there",
            exit_code=2,
        )
        return row
    if not os.path.isdir(job["folder"]):
        row.update(
            kind="file",
            error=f"{job['input']}: node {row['node']} has no folder {job['folder']}, where relative names begin",
            advice="run from a folder that all nodes share, or name inputs and lake by absolute paths",
            exit_code=1,
        )
        return row
    command = [
        *(binary, "analyze", *job["options"], "--memory", str(job["memory_bytes"]), "--threads", str(job["cores"])),
        *("--quiet", "--json", "--", job["input"]),
    ]
    start = time.monotonic()
    code, peak, out, errors = _run(command, job["folder"], job["seconds"])
    took = time.monotonic() - start
    row.update(seconds=round(took, 3), peak_memory_bytes=peak, exit_code=code)
    row.update(_said(job["input"], code, out, errors))
    if row["status"] == "failed" and job["seconds"] is not None and took >= job["seconds"]:
        row.update(
            kind="timeout",
            error=f"{job['input']}: not done after {took:.0f} s, the time limit is {job['seconds']:g} s",
            advice="give a higher --time-limit, or more --threads",
            exit_code=3,
        )
    return row


def _binary(told: str) -> str | None:
    """The binary of the driver if the node has it too, else that of the node."""
    own = (sysconfig.get_path("scripts"), os.environ.get("PATH", ""))
    return shutil.which(told) or shutil.which("heaplake", path=os.pathsep.join(own))


def _run(command: list[str], folder: str, seconds: float | None) -> tuple[int, int, str, str]:
    """Exit code, peak resident memory in bytes, standard output and standard error. The process is ended after so many
    seconds."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        guarded = [sys.executable, "-I", "-S", "-c", _GUARD, str(os.getpid()), *command]
        environment = {**os.environ, "NO_COLOR": "1"}
        process = subprocess.Popen(
            guarded, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, cwd=folder, env=environment
        )
        try:
            code, peak = _wait(process.pid, seconds)
        except BaseException:
            _end(process.pid)
            try:
                process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise
        process.returncode = code
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
        return code, peak, texts[0], texts[1]


def _wait(pid: int, seconds: float | None) -> tuple[int, int]:
    """Waits for a process, which is asked to end after so many seconds, and killed if it does not; its exit code and its
    peak of memory."""
    end = time.monotonic() + (math.inf if seconds is None else seconds)
    # A process that waits for a dead file system cannot be killed; its task ends nevertheless.
    for number in (signal.SIGTERM, signal.SIGKILL, None):
        while time.monotonic() < end:
            found = os.wait4(pid, os.WNOHANG)
            if found[0] == pid:
                return _ended(found)
            time.sleep(_POLL_S)
        if number == signal.SIGTERM:
            _end(pid)
        elif number is not None:
            os.kill(pid, number)
        end = time.monotonic() + _GRACE_S
    return -int(signal.SIGKILL), 0


def _end(pid: int) -> None:
    """Asks a process to end. One that is stopped does not see it before it goes on."""
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGCONT)


def _ended(found: tuple[int, int, Any]) -> tuple[int, int]:
    _, status, usage = found
    scale = 1 if sys.platform == "darwin" else 1024
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss * scale


def _said(name: str, code: int, out: str, errors: str) -> dict[str, Any]:
    """What the binary said of the input."""
    try:
        (entry,) = json.loads(out)
    except ValueError:
        return _silent(name, code, errors)
    if entry["status"] in ("committed", "unchanged"):
        if code == 0:
            return {"status": entry["status"], "run": entry["path"]}
        # The run is in the lake; what comes behind it, its page for instance, is not there.
        return {"run": entry["path"], **_silent(name, code, errors)}
    kind = HELD if any(words in entry["error"] for words in _HELD_BY) else entry["kind"]
    return {"kind": kind, "error": entry["error"], "advice": entry["advice"], "exit_code": code or 1}


def _silent(name: str, code: int, errors: str) -> dict[str, Any]:
    """What became of an input of which the binary printed no entry."""
    if code < 0:
        cause = f"{name}: the process was killed by signal {-code}"
        return {"kind": "killed", "error": cause, "advice": "run the same command again", "exit_code": 3}
    lines = [line for line in errors.splitlines() if line.strip()]
    cause = lines[0].removeprefix("heaplake: ") if lines else f"heaplake ended with exit code {code} and said nothing"
    advice = next((line.removeprefix("  -> ") for line in lines[1:] if line.startswith("  -> ")), None)
    kind = "interrupted" if code == 130 else "refused"
    return {
        "kind": kind,
        "error": cause if name in cause else f"{name}: {cause}",
        "advice": advice,
        "exit_code": code or 1,
    }
