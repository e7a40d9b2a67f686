"""Plans ahead of the tasks: a thread takes them from the binary, so many at most."""

from __future__ import annotations

from collections.abc import Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread

from heaplake._binary import HeaplakeError
from heaplake.cluster._plan import Plan

__all__ = ["Ahead"]

# So many plans wait here. `heaplake plan` stops at a full pipe until some are taken.
DEPTH = 64

_POLL_S = 0.25


class Ahead:
    """The plans of an iterator, taken by a thread of its own."""

    def __init__(self, plans: Iterator[Plan]) -> None:
        self._queue: Queue[Plan | HeaplakeError | None] = Queue(DEPTH)
        self._closed = Event()
        self._thread = Thread(target=self._fill, args=(plans,), daemon=True)
        self._thread.start()

    def next(self, wait: bool) -> Plan | None:
        """The next plan; None if it is not known yet. Raises `StopIteration` at the end."""
        try:
            plan = self._queue.get(timeout=_POLL_S) if wait else self._queue.get_nowait()
        except Empty:
            return None
        if plan is None:
            raise StopIteration
        if isinstance(plan, HeaplakeError):
            raise plan
        return plan

    def close(self) -> None:
        """Ends the thread, and the process that it reads from once that writes another plan."""
        self._closed.set()

    def _fill(self, plans: Iterator[Plan]) -> None:
        try:
            for plan in plans:
                if not self._put(plan):
                    return
            self._put(None)
        except HeaplakeError as problem:
            self._put(problem)

    def _put(self, plan: Plan | HeaplakeError | None) -> bool:
        """Waits until there is room; False if nobody wants more."""
        while not self._closed.is_set():
            try:
                self._queue.put(plan, timeout=_POLL_S)
                return True
            except Full:
                continue
        return False
