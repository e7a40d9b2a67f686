"""Adds snapshots and traces to a lake, from Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from heaplake import _binary
from heaplake.lake import Lake
from heaplake.lake import open as open_lake

__all__ = ["analyze", "replay"]

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def analyze(
    inputs: Paths,
    *,
    out: str | os.PathLike[str],
    release: str | None = None,
    labels: Mapping[str, str] | None = None,
    snapshot: str | None = None,
    options: Sequence[str] = (),
) -> Lake:
    """Analyses snapshots, adds each to a lake as a run, and opens the lake. What is in it already is skipped.

    - `inputs`: files, folders or glob patterns
    - `out`: the lake
    - `release`, `labels`, `snapshot`: what the runs are called
    - `options`: more options of `heaplake analyze`, such as `["--duplicates", "all", "--edges"]`

    Raises `InputError` if an input fails; the others are in the lake then. `ResourceError` if memory or disk did not
    suffice.

    >>> heaplake.analyze("incoming", out="lake", release="2.4.1", labels={"region": "eu"})
    """
    return _batch("analyze", inputs, out, release, labels, snapshot, options)


def replay(
    inputs: Paths,
    *,
    out: str | os.PathLike[str],
    release: str | None = None,
    labels: Mapping[str, str] | None = None,
    snapshot: str | None = None,
    options: Sequence[str] = (),
) -> Lake:
    """Replays traces of allocations, adds each to a lake as a run, and opens the lake. Like `analyze`.

    >>> heaplake.replay("app.nettrace", out="lake", options=["--sample-interval", "1"])
    """
    return _batch("replay", inputs, out, release, labels, snapshot, options)


def _batch(
    verb: str,
    inputs: Paths,
    out: str | os.PathLike[str],
    release: str | None,
    labels: Mapping[str, str] | None,
    snapshot: str | None,
    options: Sequence[str],
) -> Lake:
    paths = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    named = [f"--label={key}={value}" for key, value in (labels or {}).items()]
    named += [] if release is None else [f"--release={release}"]
    named += [] if snapshot is None else [f"--snapshot={snapshot}"]
    _binary.run([verb, *paths, f"--out={os.fspath(out)}", "--quiet", *named, *options])
    return open_lake(out)
