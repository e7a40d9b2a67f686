"""Lakes that the tests read, made with the binary from small inputs."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import heaplake
from heaplake import samples

FIXTURES = Path(__file__).parents[2] / "tests/fixtures"

#: The nights of the shop: release by release, its leak grows.
NIGHT = datetime(2026, 11, 21, 3, 0, tzinfo=timezone.utc)
RELEASES = ("2.4.0", "2.4.1", "2.4.2")
HOSTS = ("web1", "web2", "web3")


def make_shop(folder: Path) -> heaplake.Lake:
    """Three releases of a shop on three hosts; sessions leak from the second release on."""
    for at, release in enumerate(RELEASES):
        for number, host in enumerate(HOSTS):
            snapshot = samples.write(
                folder / "incoming" / release / f"{host}.heapsnapshot",
                leak="sessions" if at else None,
                seed=10 * at + number,
                size=at / 2,
                tracked=True,
                captured_at=NIGHT + timedelta(days=at, minutes=number),
            )
            lake = heaplake.analyze(
                snapshot,
                out=folder / "lake",
                release=release,
                snapshot=host,
                labels={"host": host, "region": "eu" if number else "us"},
                options=["--edges", "--values", "--duplicates", "all"],
            )
    return lake


def make_everything(lake: Path) -> heaplake.Lake:
    """A lake that has every table of runs: of V8, Java and .NET, of heaps and of traces."""
    analyze = ["--edges", "--values", "--duplicates", "all"]
    replay = ["--tracks", "--sample-interval=1"]
    heaplake.analyze(FIXTURES / "v8/alloc20.heapsnapshot.zst", out=lake, snapshot="tracked", options=analyze)
    for at, step in enumerate(("base", "target", "final")):
        snapshot = FIXTURES / f"v8/steps_{step}.heapsnapshot.zst"
        heaplake.analyze(snapshot, out=lake, release=f"{at}", snapshot=step, labels={"step": step}, options=analyze)
    heaplake.analyze(FIXTURES / "jvm/dupfix.hprof.zst", out=lake, snapshot="java", options=analyze)
    heaplake.analyze(FIXTURES / "dotnet/heap8_2.nettrace.zst", out=lake, snapshot="walk", options=analyze)
    for release in ("1", "2", "3"):
        heaplake.replay(FIXTURES / "dotnet/both.log.zst", out=lake, release=release, snapshot="log", options=replay)
        jfr = FIXTURES / "jfr/jdk25-g1.jfr.zst"
        heaplake.replay(jfr, out=lake, release=release, snapshot="jfr", options=replay)
    return heaplake.replay(FIXTURES / "dotnet/net8_both.nettrace.zst", out=lake, snapshot="net8", options=replay)
