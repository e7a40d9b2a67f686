"""What the driver tells while it works: a progress line on a terminal, lines for people, or a log for machines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from heaplake.cluster._sizes import shown

__all__ = ["Teller", "visible"]

# The progress line is drawn anew at most so often.
_EVERY_S = 0.2


def visible(text: str) -> str:
    """A text of one line that no terminal obeys.

    >>> visible("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


class Teller:
    """Tells of inputs as they end."""

    def __init__(self, *, quiet: bool, json_log: bool, on_stdout: bool) -> None:
        self._quiet, self._json, self._on_stdout = quiet, json_log, on_stdout and not quiet
        # Those of now: Ray's own words go to others.
        self._out, self._errors = sys.stdout, sys.stderr
        self._bar = self._errors.isatty() and not quiet and not json_log
        self._drawn = 0.0
        self._start = time.monotonic()

    def ended(self, row: Mapping[str, Any]) -> None:
        """An input is done."""
        if row["status"] == "failed":
            self.failed(row["error"], row.get("advice"), kind=row["kind"], exit_code=row["exit_code"])
            return
        if self._json:
            if not self._quiet:
                known = ("input", "seconds", "node", "attempts")
                self._event(
                    row["status"],
                    path=row["run"],
                    peak_rss_bytes=row["peak_memory_bytes"],
                    scratch_bytes=row["scratch_bytes"],
                    **{key: row[key] for key in known},
                )
        elif self._on_stdout:
            self._clear()
            what = "in the lake before" if row["status"] == "unchanged" else "new"
            took = (
                f"{row['seconds']:.1f} s, {shown(row['peak_memory_bytes'])}, {row['node']}"
                if row["attempts"]
                else "no task"
            )
            self.print(visible(f"{row['input']}: {what}, {row['run']} ({took})"))

    def again(self, row: Mapping[str, Any], why: str) -> None:
        """An input is tried again."""
        if self._quiet:
            return
        if self._json:
            self._event("retried", level="WARN", input=row["input"], attempts=row["attempts"], cause=why)
        else:
            self._clear()
            print(f"{visible(why)}: tried again", file=self._errors, flush=True)

    def failed(self, cause: str, advice: str | None, *, kind: str | None, exit_code: int) -> None:
        """An input failed, or the command as a whole."""
        advice = advice or "run the same command again"
        if self._json:
            self._event("failed", level="ERROR", kind=kind, cause=cause, advice=advice, exit_code=exit_code)
        else:
            self._clear()
            print(f"heaplake: {visible(cause)}\n  -> {visible(advice)}", file=self._errors, flush=True)

    def warn(self, cause: str) -> None:
        """Something that the user should know, and that stops nothing."""
        if self._quiet:
            return
        if self._json:
            self._event("warning", level="WARN", cause=cause)
        else:
            self._clear()
            print(f"heaplake: {visible(cause)}", file=self._errors, flush=True)

    def waits(self, what: str, inputs: int, seconds: float) -> None:
        """Inputs wait for a node that can take them, so many seconds longer at most."""
        if self._quiet:
            return
        if self._json:
            self._event("waiting", level="WARN", cause=what, inputs=inputs, seconds=round(seconds))
        else:
            self._clear()
            print(
                f"heaplake: waiting for a node: {visible(what)} ({seconds:.0f} s more)", file=self._errors, flush=True
            )

    def progress(self, done: int, failed: int, running: int, known: int, more: bool) -> None:
        """Draws the line of progress, on a terminal."""
        now = time.monotonic()
        if not self._bar or now - self._drawn < _EVERY_S:
            return
        self._drawn = now
        bad = f", {failed} failed" if failed else ""
        line = f"{done} of {known}{'+' if more else ''} done{bad}, {running} under way, {now - self._start:.0f} s"
        print(f"\r\x1b[K{line}", end="", file=self._errors, flush=True)

    def finished(self, line: str, counts: Mapping[str, int]) -> None:
        """The batch is over."""
        self._clear()
        if self._json:
            fields: dict[str, Any] = dict(counts)
            self._event("finished", **fields, seconds=round(time.monotonic() - self._start, 3))
        elif self._on_stdout:
            self.print(f"\n{line}")

    def print(self, text: str) -> None:
        """Writes to standard output."""
        print(text, file=self._out, flush=True)

    def _clear(self) -> None:
        if self._bar and self._drawn:
            print("\r\x1b[K", end="", file=self._errors, flush=True)
            self._drawn = 0.0

    def _event(self, event: str, level: str = "INFO", **fields: Any) -> None:
        now = datetime.now(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")
        line = json.dumps({"timestamp": now, "level": level, "event": event, **fields})
        print(line, file=self._errors, flush=True)
