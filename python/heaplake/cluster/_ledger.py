"""Which inputs are in the lake already, as former commands found: an unchanged input costs no task.

The lake has a line of JSON for each input that a task analysed, or found there by its hash: size, times of change and
number of its file, the options, and the seal of the run. An input is unchanged if all of them are the same again. Where
anything differs or is not known, a task decides by the hash. Inputs and lakes in object stores have no lines.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heaplake._places import Url, place
from heaplake.cluster import _outputs

__all__ = ["Ledger", "digest"]

_FILE = ".heaplake-fleet/inputs.jsonl"
# The first line of run.json has the seal of the rest.
_SEAL = re.compile(rb'"seal"\s*:\s*"([0-9a-f]{16})"')
_HEAD = 4096
# A file system may note times in steps of two seconds: a change in the same step is not seen.
_COARSE_NS = 2_000_000_000
_FINE_NS = 50_000_000

# Options whose files shape the run.
_RULES = ("--owners", "--names", "--symbols", "--source-maps", "--texts-key")
# Options that do not.
_BESIDE = ("--scratch=", "--resume=", "--report")


class Ledger:
    """The lines of one lake for one set of options."""

    def __init__(self, lake: str, folder: str, options: str, page: bool) -> None:
        """`options` is their digest; `page` whether a run has to have its page."""
        self._named, self._folder, self._options, self._page = lake, folder, options, page
        at = place(lake)
        self._lake = None if isinstance(at, Url) else Path(folder, at)
        self._lines: dict[str, dict[str, Any]] = {}
        if self._lake is not None:
            self._load(self._lake / _FILE)

    def state(self, name: str) -> list[int] | None:
        """What changes with a file; None if that cannot be told."""
        if self._lake is None or isinstance(place(name), Url):
            return None
        try:
            about = os.stat(os.path.join(self._folder, name))
        except OSError:
            return None
        step = _FINE_NS if about.st_mtime_ns % 1_000_000_000 else _COARSE_NS
        if time.time_ns() - max(about.st_mtime_ns, about.st_ctime_ns) < step:
            return None
        return [about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino]

    def run(self, name: str) -> str | None:
        """The run of an input that has not changed since; None if a task has to look."""
        line = self._lines.get(self._key(name))
        if line is None or self._lake is None or line["state"] != self.state(name):
            return None
        run = self._lake / line["run"]
        if _seal(run) != line["seal"] or (self._page and not (run / "report.html").is_file()):
            return None
        return os.path.join(self._named, line["run"])

    def add(self, name: str, state: list[int] | None, row: Mapping[str, Any]) -> None:
        """A task found or made the run of an input, whose file had this state before the task began."""
        if state is None or self._lake is None or row["status"] == "failed":
            return
        run = os.path.relpath(os.path.join(self._folder, row["run"]), self._lake)
        seal = _seal(self._lake / run)
        if seal is None:
            return
        line = {"input": self._key(name), "options": self._options, "state": state, "run": run, "seal": seal}
        try:
            path = self._lake / _FILE
            path.parent.mkdir(exist_ok=True)
            with path.open("ab", buffering=0) as file:
                file.write(_line(line))
        except OSError:
            # It saves tasks, nothing more.
            return

    def _key(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _load(self, path: Path) -> None:
        """Reads the lines, and writes the file anew when most of them are outdated."""
        try:
            text = path.read_bytes()
        except OSError:
            return
        latest: dict[tuple[str, str], dict[str, Any]] = {}
        count = 0
        for one in text.splitlines():
            count += 1
            try:
                line = json.loads(one)
                latest[line["input"], line["options"]] = line
            except (ValueError, TypeError, KeyError):
                # Torn by a crash.
                continue
        self._lines = {name: line for (name, options), line in latest.items() if options == self._options}
        if count > 2 * len(latest) + 1000:
            _outputs.write(path, lambda file: file.writelines(_line(line) for line in latest.values()))


def digest(options: Sequence[str], folder: str, version: str) -> str:
    """What stands for options with the contents of the files that they name, and for the version of the binary."""
    parts = [version, folder]
    for word in options:
        if word.startswith(_BESIDE):
            continue
        parts.append(word)
        name, _, value = word.partition("=")
        if name in _RULES:
            parts.extend(_content(Path(folder, value)))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _content(path: Path) -> list[str]:
    """What changes with a file or a folder of rules."""
    if path.is_file():
        return [hashlib.sha256(path.read_bytes()).hexdigest()] if path.stat().st_size < _HEAD**2 else [_times(path)]
    return [_times(one) for one in sorted(path.rglob("*")) if one.is_file()]


def _times(path: Path) -> str:
    about = path.stat()
    return f"{path} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns} {about.st_ino}"


def _line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values).encode() + b"\n"


def _seal(run: Path) -> str | None:
    """The seal of a run; None if there is no run, or one of an older version."""
    try:
        with (run / "run.json").open("rb") as file:
            found = _SEAL.search(file.read(_HEAD))
    except OSError:
        return None
    return found[1].decode() if found else None
