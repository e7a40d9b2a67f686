"""What tasks took: memory by format and size of the input, for the requests of the next inputs."""

from __future__ import annotations

import os
from collections import defaultdict, deque

from heaplake.cluster._plan import LEAST, OVERHEAD, STEP, Plan
from heaplake.cluster._sizes import MIB

__all__ = ["Observed"]

# Inputs are alike if their formats are the same and their sizes differ by no more than this factor.
_ALIKE = 4
# So many like inputs have to be seen before a request becomes smaller than the plan.
_ENOUGH = 3
# What is asked for beyond the largest peak.
_MARGIN = 1.25
# What any analysis takes, however small its input.
_BASE = 32 * MIB
# No request is smaller than this.
_SMALLEST = LEAST // 2
# So many inputs of each format are remembered, the latest.
_REMEMBERED = 256

_COMPRESSED = (".gz", ".zst")


class Observed:
    """The memory of inputs that are done."""

    def __init__(self) -> None:
        self._peaks: dict[str, deque[tuple[int, int]]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))
        self._needs: dict[str, deque[tuple[int, int]]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))

    def done(self, plan: Plan, peak: int | None) -> None:
        """An input was analysed at its first try, with this peak of memory."""
        if plan.bytes and peak:
            # Requests are budgets, and the binary has this on top of its own.
            self._peaks[_format(plan.input)].append((plan.bytes, max(peak - OVERHEAD, 0)))

    def ran_out(self, plan: Plan, memory: int) -> None:
        """An input needs this memory: it ran out of less."""
        if plan.bytes:
            self._needs[_format(plan.input)].append((plan.bytes, memory))

    def memory(self, plan: Plan) -> int | None:
        """The memory that inputs like this one took, in proportion to their sizes; None if too few are known."""
        if not plan.bytes:
            return None
        peaks = _for(plan.bytes, self._peaks[_format(plan.input)])
        needs = self.needed(plan)
        if len(peaks) < _ENOUGH:
            return None if needs is None else max(needs, plan.resident_memory, LEAST)
        return max(int(max(peaks) * _MARGIN), needs or 0, _SMALLEST)

    def needed(self, plan: Plan) -> int | None:
        """The memory without which inputs like this one failed; None if none did."""
        if not plan.bytes:
            return None
        return max(_for(plan.bytes, self._needs[_format(plan.input)]), default=None)


def _for(size: int, seen: deque[tuple[int, int]]) -> list[int]:
    """What each of the inputs that are like one of this size means for it."""
    alike = (one for one in seen if size / _ALIKE <= one[0] <= size * _ALIKE)
    sizes = (min(memory, _BASE) + int(max(memory - _BASE, 0) * size / other) for other, memory in alike)
    # Ray keeps a queue for each different request, so few of them differ.
    return [-(-one // STEP) * STEP for one in sizes]


def _format(name: str) -> str:
    """The format that the name of an input stands for, and its compression.

    >>> _format("s3://dumps/web7.2026.HPROF.gz"), _format("/a.b/core")
    ('.hprof.gz', '')
    """
    stem, last = os.path.splitext(name.lower())
    return os.path.splitext(stem)[1] + last if last in _COMPRESSED else last
