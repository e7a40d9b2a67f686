#!/usr/bin/env python3
"""Compares runs of one program with other hash seeds: how many chains both have, and which gates fire. None should.

    scripts/same_program.py --heaplake target/release/heaplake --pairs 20

Needs node, and polars in this Python (that of target/fleet, which `make test-fleet` makes, has it). The programs are the
bundles of tests/programs/minified with their source maps, and three plain ones.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

PROGRAMS = Path(__file__).resolve().parent.parent / "tests" / "programs"
#: A program, its arguments before the file for the snapshot, and options of `analyze`.
CASES = {
    "minified/esbuild/app.cjs": ([], ["--source-maps", str(PROGRAMS / "minified/esbuild/app.cjs.map")]),
    "minified/webpack/app.cjs": ([], ["--source-maps", str(PROGRAMS / "minified/webpack/app.js.map")]),
    "minified/inline/app.cjs": ([], []),
    "engines.cjs": ([], []),
    "corpus/job_deadlines.cjs": (["healthy"], []),
    "corpus/rpc_pending.cjs": (["healthy"], []),
}
GATES = (
    "chains: retained_bytes.percent > 5 % and retained_bytes.delta > 64 KiB",
    'chains: status like "appeared%" and retained_bytes.delta > 64 KiB',
    'status like "grew%" and retained_bytes.delta_sum > 64 KiB',
    'findings: status like "appeared%" and bytes.delta > 64 KiB',
)


def run_of(name: str, seed: int, heaplake: str, folder: Path) -> Path:
    """Runs a program with a hash seed and analyses its snapshot; the folder of the run."""
    arguments, options = CASES[name]
    snapshot = folder / f"{seed}.heapsnapshot"
    node = ["node", f"--hash-seed={seed}", str(PROGRAMS / name), *arguments, str(snapshot)]
    subprocess.run(node, check=True, cwd=folder, capture_output=True)
    lake = folder / "lake"
    analyze = [heaplake, "analyze", str(snapshot), "--out", str(lake), "--snapshot", str(seed)]
    subprocess.run([*analyze, "--quiet", "--duplicates", "none", *options], check=True)
    snapshot.unlink()
    return lake / "release=none" / f"snapshot={seed}"


def compared(name: str, pair: int, heaplake: str) -> tuple[float, bool]:
    """The part of the chains that both runs of a pair have, and whether a gate fires."""
    with tempfile.TemporaryDirectory() as folder:
        runs = [run_of(name, 7919 * (2 * pair + side), heaplake, Path(folder)) for side in (1, 2)]
        base, target = (set(pl.read_parquet(run / "chains.parquet")["fingerprint"]) for run in runs)
        gates = [word for gate in GATES for word in ("--fail-if", gate)]
        code = subprocess.run([heaplake, "diff", *map(str, runs), "--quiet", *gates], capture_output=True).returncode
        if code not in (0, 4):
            sys.exit(f"{name}: diff ended with {code}")
        return len(base & target) / len(base | target), code == 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--heaplake", default="target/release/heaplake")
    parser.add_argument("--pairs", type=int, default=20)
    options = parser.parse_args()
    heaplake = str(Path(options.heaplake).resolve())
    for name in CASES:
        pairs = [compared(name, pair, heaplake) for pair in range(options.pairs)]
        shares, fired = [share for share, _ in pairs], sum(fires for _, fires in pairs)
        print(f"{name}: chains in common at least {min(shares):.3f}, gates fired in {fired} of {len(pairs)} pairs", flush=True)


if __name__ == "__main__":
    main()
