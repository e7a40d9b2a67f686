"""Signals that end the command: the tasks are cancelled first."""

from __future__ import annotations

import os
import signal
from types import FrameType

__all__ = ["exit_code", "listen"]

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_seen: list[int] = []


def listen() -> None:
    """Turns the first signal into `KeyboardInterrupt`. A second one ends the process at once; tasks end with their
    driver."""
    for number in _NUMBERS:
        signal.signal(number, _handle)


def exit_code() -> int:
    """What a shell gives for a process that the first signal ended. Ray makes exceptions of its own of ours, so they
    cannot carry it."""
    return 128 + (_seen[0] if _seen else signal.SIGINT)


def _handle(number: int, _: FrameType | None) -> None:
    if _seen:
        os._exit(128 + number)
    _seen.append(number)
    raise KeyboardInterrupt
