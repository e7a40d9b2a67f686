"""How many rows a second rollups take, on one machine and in Spark, on a lake that is made for it.

    python rates.py make LAKE --runs 1000 --classes 10000
    python rates.py binary LAKE
    python rates.py spark LAKE --master 'local[2]'

A run has the table `classes` alone. Its classes are some of twice as many that all runs share, with other numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from snapshots import write

import heaplake

HOSTS = 50
RELEASES = 4


def make(lake: Path, runs: int, classes: int) -> None:
    """Writes the lake: one real run is the pattern of all."""
    import numpy
    import pyarrow
    import pyarrow.parquet

    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "a.heapsnapshot")
        heaplake._binary.run(["analyze", path, "--out", f"{folder}/lake", "--quiet"])
        (pattern,) = Path(folder, "lake").glob("release=*/snapshot=*")
        description = json.loads((pattern / "run.json").read_text())
        schema = pyarrow.parquet.read_schema(pattern / "classes.parquet")
    draw = numpy.random.default_rng(1)
    names = numpy.array([f"com.example.fleet.Class{number:06}" for number in range(2 * classes)])
    prints = numpy.sort(draw.integers(1, 2**63, 2 * classes, dtype=numpy.uint64))
    for number in range(runs):
        chosen = numpy.sort(draw.choice(2 * classes, classes, replace=False))
        count = draw.integers(1, 10_000, classes)
        shallow = count * draw.integers(16, 200, classes)
        release, snapshot = f"1.{number * RELEASES // runs}", f"web{number % HOSTS}-{number:05}"
        columns: dict[str, Any] = {
            "release": [release] * classes,
            "snapshot": [snapshot] * classes,
            "class_id": numpy.arange(classes),
            **{name: names[chosen] for name in ("class", "class_key", "signature")},
            "count": count,
            "self_bytes": shallow,
            "shallow_bytes": shallow,
            "native_bytes": None,
            "retained_bytes": shallow * draw.integers(1, 50, classes),
            "max_retained_bytes": shallow,
            "distance": 3,
            "duplicate_count": 0,
            "duplicate_bytes": 0,
            "big": False,
            "fingerprint": prints[chosen],
        }
        arrays = [
            pyarrow.array(
                [columns[field.name]] * classes if numpy.ndim(columns[field.name]) == 0 else columns[field.name],
                field.type,
            )
            for field in schema
        ]
        place = lake / f"release={release}" / f"snapshot={snapshot}"
        place.mkdir(parents=True)
        table = pyarrow.Table.from_arrays(arrays, schema=schema.with_metadata(None))
        pyarrow.parquet.write_table(table, place / "classes.parquet", compression="zstd")
        own = {"file": "classes.parquet", "rows": classes, "bytes": (place / "classes.parquet").stat().st_size}
        tables = [{**description["tables"][0], **own}]
        captured = 1_700_000_000_000_000 + 60_000_000 * number
        run = {**description, "release": release, "snapshot": snapshot, "tables": tables, "captured_at_us": captured}
        run["options"] = {**description["options"], "labels": {"host": f"web{number % HOSTS}"}}
        del run["seal"]
        (place / "run.json").write_text(json.dumps(run))


def told(what: str, rows: int, seconds: float, start: tuple[float, float]) -> None:
    used = sum(os.times()[:4]) - start[0]
    print(
        f"{what}: {rows} rows in {seconds:.1f} s: {rows / seconds:,.0f} rows/s; {used:.1f} s of processors", flush=True
    )


def rows_of(lake: Path) -> int:
    return sum(json.loads(path.read_text())["tables"][0]["rows"] for path in lake.glob("release=*/*/run.json"))


def binary(lake: Path) -> None:
    """`heaplake fleet rollup` into a new folder."""
    rows = rows_of(lake)
    with tempfile.TemporaryDirectory() as out:
        start, processors = time.monotonic(), (sum(os.times()[:4]), 0.0)
        heaplake._binary.run(["fleet", "rollup", lake, "--out", out, "--memory", "512MiB", "--quiet"])
        told("binary", rows, time.monotonic() - start, processors)
    print(f"peak {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024} MiB")


def spark(lake: Path, master: str) -> None:
    """The same rollup in Spark, written as Parquet."""
    from pyspark.sql import SparkSession

    import heaplake.fleet.spark

    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "8",
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    rows = rows_of(lake)
    processors = (sum(os.times()[:4]), 0.0)
    session = SparkSession.builder.master(master).config(map=options).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    out = Path(tempfile.mkdtemp()) / "out"
    for attempt in ("first", "second"):
        start = time.monotonic()
        opened = heaplake.fleet.spark.open(session, str(lake.resolve()), ["classes"])
        listed = time.monotonic()
        opened.rollup("classes").write.mode("overwrite").parquet(str(out))
        print(f"listed in {listed - start:.1f} s")
        told(f"spark, {attempt}", rows, time.monotonic() - start, processors)
    session.stop()
    shutil.rmtree(out.parent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "binary", "spark"))
    parser.add_argument("lake", type=Path)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--classes", type=int, default=10_000)
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    if given.what == "make":
        make(given.lake, given.runs, given.classes)
    elif given.what == "binary":
        binary(given.lake)
    else:
        spark(given.lake, given.master)


if __name__ == "__main__":
    sys.exit(main())
