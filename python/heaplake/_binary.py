"""Finds the binary `heaplake`, runs it, and turns its failures into exceptions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["BinaryNotFound", "GateError", "HeaplakeError", "InputError", "Interrupted", "ResourceError", "UsageError"]


class HeaplakeError(Exception):
    """A command of heaplake failed. `str()` is its cause, one line.

    - `cause`: what went wrong, with the file and the place in it
    - `advice`: what to do, or None
    - `exit_code`: that of the command; the subclasses stand for one each
    - `command`: its arguments, without the binary
    - `kind`: `damaged`, `file`, `memory`, `disk`, ..., or None where the command does not say
    """

    def __init__(
        self,
        cause: str,
        *,
        advice: str | None = None,
        exit_code: int | None = None,
        command: Sequence[str] = (),
        kind: str | None = None,
    ) -> None:
        super().__init__(cause)
        self.cause = cause
        self.advice = advice
        self.exit_code = exit_code
        self.command = tuple(command)
        self.kind = kind

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions cross processes; their arguments by keyword have to come along.
        return (_remade, (type(self), self.cause, self.advice, self.exit_code, self.command, self.kind))


def _remade(
    what: type[HeaplakeError],
    cause: str,
    advice: str | None,
    exit_code: int | None,
    command: Sequence[str],
    kind: str | None,
) -> HeaplakeError:
    return what(cause, advice=advice, exit_code=exit_code, command=command, kind=kind)


class BinaryNotFound(HeaplakeError):
    """There is no binary `heaplake`."""


class InputError(HeaplakeError):
    """Exit code 1: some inputs or runs failed, the others did not."""


class UsageError(HeaplakeError):
    """Exit code 2: the command line, the lake or the folder of a run cannot be used."""


class ResourceError(HeaplakeError):
    """Exit code 3: memory or disk did not suffice. More of them may help."""


class GateError(HeaplakeError):
    """Exit code 4: a gate of a comparison failed."""


class Interrupted(HeaplakeError):
    """Exit code 130, or a signal ended the process. The same command goes on."""


_BY_EXIT_CODE: dict[int, type[HeaplakeError]] = {
    1: InputError,
    2: UsageError,
    3: ResourceError,
    4: GateError,
    130: Interrupted,
}


def binary() -> Path:
    """The binary that commands run: `HEAPLAKE_BINARY`, else the one that the wheel installed, else that of `PATH`.

    Raises `BinaryNotFound` if there is none, or if `HEAPLAKE_BINARY` names what cannot be run.

    >>> binary().name
    'heaplake'
    """
    named = os.environ.get("HEAPLAKE_BINARY")
    if named:
        found = shutil.which(named)
        if found is None:
            raise BinaryNotFound(f"{named}: HEAPLAKE_BINARY names no program", advice="correct or unset the variable")
        return Path(found)
    schemes = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    found = shutil.which("heaplake", path=os.pathsep.join(schemes)) or shutil.which("heaplake")
    if found is None:
        raise BinaryNotFound(
            "there is no program heaplake",
            advice="pip install the package anew, put the binary on PATH, or name it in HEAPLAKE_BINARY",
        )
    return Path(found)


def run(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    env: Mapping[str, str] | None = None,
    input: str | None = None,
    answers: Collection[int] = (0,),
) -> str:
    """Runs a command and returns what it prints. Texts have any length, without colours.

    `env` is added to the environment. Raises the `HeaplakeError` of an exit code that is none of `answers`.

    >>> run(["--version"]).split()[0]
    'heaplake'
    """
    command = [os.fspath(argument) for argument in arguments]
    environment = {**os.environ, **(env or {}), "NO_COLOR": "1"}
    done = subprocess.run(
        [str(binary()), *command],
        check=False,
        env=environment,
        input=input,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode not in answers:
        raise error(command, done.returncode, done.stderr)
    return done.stdout


def run_json(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    env: Mapping[str, str] | None = None,
    answers: Collection[int] = (0,),
) -> Any:
    """Runs a command with `--json` and returns what it prints as values.

    >>> run_json(["ls", "lake"])["runs"]  # doctest: +SKIP
    [{'release': '2.4.0', ...}]
    """
    return json.loads(run([*arguments, "--json"], env=env, answers=answers))


def error(command: Sequence[str], exit_code: int, stderr: str) -> HeaplakeError:
    """The exception for a command that ended with `exit_code` and wrote `stderr`.

    Understands the two lines for people and, with `--log-format json`, the event `failed`. Of several failures the first
    counts. A negative exit code is a signal, as in `subprocess`.
    """
    what = Interrupted if exit_code < 0 else _BY_EXIT_CODE.get(exit_code, HeaplakeError)
    cause, advice, kind = _failure(stderr)
    if cause is None:
        said = [line for line in stderr.splitlines() if line.strip()]
        cause = said[-1].strip() if said else f"heaplake ended with exit code {exit_code} and said nothing"
    return what(cause, advice=advice, exit_code=exit_code, command=command, kind=kind)


def _failure(stderr: str) -> tuple[str | None, str | None, str | None]:
    """Cause, advice and kind of the first failure that was written."""
    lines = stderr.splitlines()
    for at, line in enumerate(lines):
        if line.startswith("{"):
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if event.get("event") == "failed":
                return event.get("cause"), event.get("advice"), event.get("kind")
        if line.startswith(("heaplake: note: ", "heaplake: warning: ")):
            continue
        for mark in ("heaplake: ", "error: "):
            if line.startswith(mark):
                after = lines[at + 1] if at + 1 < len(lines) else ""
                advice = after.strip().removeprefix("-> ") if after.startswith("  -> ") else None
                return line.removeprefix(mark), advice, None
    return None, None, None
