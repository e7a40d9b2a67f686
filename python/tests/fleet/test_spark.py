"""A lake in Spark, on a real master and two workers on loopback: the rows of `heaplake fleet rollup`, and of DataFusion."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from snapshots import write

import heaplake
from heaplake._tables import tables
from heaplake.fleet import _rollup, spark

pyspark = pytest.importorskip("pyspark")
pytestmark = [pytest.mark.spark]

LOOPBACK = "127.0.0.1"
ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests" / "fixtures"


def free_port() -> int:
    with socket.socket() as held:
        held.bind((LOOPBACK, 0))
        return int(held.getsockname()[1])


def answers(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port), 0.2).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on a standalone master with two workers of a core each."""
    from pyspark.sql import SparkSession

    home = Path(pyspark.__file__).parent
    work, port = tmp_path_factory.mktemp("spark"), free_port()
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": LOOPBACK, "PYSPARK_PYTHON": sys.executable}
    with ExitStack() as stack:

        def start(what: str, *words: str) -> None:
            command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}", "--host", LOOPBACK, *words]
            log = stack.enter_context((work / f"{what}-{len(words)}.log").open("ab"))
            process = subprocess.Popen(command, env=environment, cwd=work, stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.kill)

        start("master.Master", "--port", str(port), "--webui-port", str(free_port()))
        for _ in range(200):
            if answers(port):
                break
            time.sleep(0.1)
        for number in range(2):
            folder = work / f"worker{number}"
            own = ("--cores", "1", "--memory", "1g", "--webui-port", str(free_port()), "--work-dir", str(folder))
            start("worker.Worker", *own, f"spark://{LOOPBACK}:{port}")
        os.environ["SPARK_LOCAL_IP"] = LOOPBACK
        options = {
            "spark.driver.host": LOOPBACK,
            "spark.driver.bindAddress": LOOPBACK,
            "spark.executor.memory": "640m",
            "spark.executor.cores": "1",
            "spark.cores.max": "2",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        made = SparkSession.builder.master(f"spark://{LOOPBACK}:{port}").config(map=options).getOrCreate()
        stack.callback(made.stop)
        made.sparkContext.setLogLevel("ERROR")
        yield made


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three releases of four hosts, one of them without a name, two replays, and runs of every earlier version."""
    folder = tmp_path_factory.mktemp("lake")
    lake = folder / "lake"
    for release in range(3):
        for host in range(4):
            seed = 10 * release + host
            path = write(folder / f"web{seed}.heapsnapshot", nodes=300 + 40 * seed, classes=12 + seed % 5, seed=seed)
            label = [] if host == 3 else ["--label", f"host=web{host}", "--label", f"region=r{host % 2}"]
            command = ["analyze", path, "--out", lake, "--release", f"1.{release}0", *label, "--quiet"]
            heaplake._binary.run(command)
    trace = FIXTURES / "dotnet" / "net8_both.nettrace.zst"
    for number in ("10", "1"):
        command = ["replay", trace, "--out", lake, "--release", "1.10", "--snapshot", f"trace {number}+[a]%20"]
        heaplake._binary.run([*command, "--sample-interval", number, "--quiet"])
    for run in FIXTURES.glob("version-1/lake/release=*/snapshot=*"):
        listed = json.loads((run / "run.json").read_text())["tables"]
        # The largest tables of some are not kept.
        if all((run / table["file"]).exists() for table in listed):
            shutil.copytree(run, lake / run.parent.name / run.name)
    return lake


@pytest.fixture(scope="module")
def opened(session: Any, lake: Path) -> spark.SparkLake:
    return spark.open(session, str(lake))


def plain(value: Any) -> Any:
    """A value as both sides write it."""
    if hasattr(value, "tzinfo"):
        return value.replace(tzinfo=None)
    return int(value) if type(value).__name__ == "Decimal" else value


def rolled(lake: Path, out: Path, table: str, by: str) -> list[dict[str, Any]]:
    """The rows of `heaplake fleet rollup`."""
    import pyarrow.parquet

    heaplake._binary.run(["fleet", "rollup", lake, "--out", out, "--by", by, "--quiet"])
    rows: list[dict[str, Any]] = []
    for group in json.loads((out / "rollup.json").read_text())["groups"]:
        path = out / group["folder"] / f"{_rollup.TABLES[table].name}.parquet"
        if path.exists():
            rows += pyarrow.parquet.read_table(path).to_pylist()
    for row in rows:
        labels = dict(row.pop("labels"))
        row |= {f"label_{key.removeprefix('label.')}": labels.get(key.removeprefix("label.")) for key in by.split(",")}
        row.pop("label_release", None)
    return rows


def keyed(rows: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    keys = ("format", "release", "label_region", "fingerprint", "measure")
    found = {tuple(plain(row.get(key)) for key in keys): {name: plain(row[name]) for name in row} for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize("table", list(_rollup.TABLES))
def test_rollups_have_the_rows_of_the_binary(opened: spark.SparkLake, lake: Path, tmp_path: Path, table: str) -> None:
    expected = keyed(rolled(lake, tmp_path, table, "release"))
    found = keyed([row.asDict() for row in opened.rollup(table).collect()])
    assert len(expected) > 1, "a lake without the table says nothing"
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        without = {name: value for name, value in row.items() if name != "release" or value is not None}
        assert found[key] == without


def test_rollups_by_labels(opened: spark.SparkLake, lake: Path, tmp_path: Path) -> None:
    expected = keyed(rolled(lake, tmp_path, "classes", "label.region"))
    found = keyed([row.asDict() for row in opened.rollup("classes", ["label.region"]).collect()])
    assert {key[2] for key in found} == {"r0", "r1", None}
    assert found == {key: {name: row[name] for name in row if name != "release"} for key, row in expected.items()}


def test_every_table_has_the_rows_of_the_runs(opened: spark.SparkLake, lake: Path, session: Any) -> None:
    """As many as `run.json` says, each with its run; columns that older runs lack are null there."""
    said: dict[str, dict[tuple[str, str], int]] = {}
    for path in lake.glob("release=*/snapshot=*/run.json"):
        run = json.loads(path.read_text())
        for table in run["tables"]:
            counts = said.setdefault(table["file"].removesuffix(".parquet"), {})
            counts[run["release"], run["snapshot"]] = table["rows"]
    known = [table.name for table in tables().values() if table.of_runs]
    assert set(said) <= set(known)
    for name in known:
        frame = session.table(name)
        assert frame.columns[:4] == ["release", "snapshot", "captured_at", "labels"], name
        counted = {
            (row.release, row.snapshot): row["count"] for row in frame.groupBy("release", "snapshot").count().collect()
        }
        assert counted == {run: rows for run, rows in said.get(name, {}).items() if rows}, name
    old = session.sql("SELECT count(*), count(fingerprint), count(class) FROM classes WHERE release = '1.4'").collect()[
        0
    ]
    assert old[0] == old[2] > 0 == old[1]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_lakes_of_older_versions(session: Any, version: int) -> None:
    lake = next(FIXTURES.glob(f"version-{version}/**/release=*")).parent
    views = spark.SparkLake(session, str(lake))
    for table in ("classes", "findings", "snapshot", "duplicate_members"):
        paths = lake.glob("release=*/*/run.json")
        said = [listed for path in paths for listed in json.loads(path.read_text())["tables"]]
        rows = sum(listed["rows"] for listed in said if listed["file"] == f"{table}.parquet")
        assert len(views.table(table).collect()) == rows > 0, table


def test_runs_are_those_of_the_binary(opened: spark.SparkLake, lake: Path, session: Any) -> None:
    listed = heaplake._binary.run_json(["ls", lake])["runs"]
    rows = session.sql("SELECT * FROM runs ORDER BY release, snapshot").collect()
    assert [(row.release, row.snapshot) for row in rows] == [(run["release"], run["snapshot"]) for run in listed]
    assert [row.high_findings for row in rows] == [run["findings"]["high"] for run in listed]
    assert {row.labels.get("host") for row in rows} == {"web0", "web1", "web2", None}


def test_newer_runs_are_left_out(session: Any, lake: Path, tmp_path: Path) -> None:
    first = next(lake.glob("release=1.00/*"))
    for name, version in (("known", 0), ("newer", 1)):
        place = tmp_path / "release=none" / f"snapshot={name}"
        shutil.copytree(first, place)
        run = json.loads((place / "run.json").read_text())
        run |= {"release": "none", "snapshot": name, "schema_version": run["schema_version"] + version}
        (place / "run.json").write_text(json.dumps(run))
    with pytest.warns(UserWarning, match="left out: its tables are of a newer version"):
        views = spark.SparkLake(session, str(tmp_path))
    assert [row.snapshot for row in views.runs().collect()] == ["known"]
    with pytest.raises(heaplake.UsageError, match="there is no run"):
        spark.open(session, str(tmp_path / "nothing"))


def test_runs_as_a_store_has_them(session: Any, lake: Path, tmp_path: Path) -> None:
    """Tables are in the folder that `run.json` names; what another attempt left beside it counts for nothing."""
    first = next(lake.glob("release=1.00/*"))
    place = tmp_path / "release=1.00" / first.name
    for attempt in ("tables-0123456789abcdef", "tables-fedcba9876543210"):
        shutil.copytree(first, place / attempt, ignore=shutil.ignore_patterns("run.json"))
    run = json.loads((first / "run.json").read_text()) | {"folder": "tables-0123456789abcdef"}
    (place / "run.json").write_text(json.dumps(run))
    views = spark.SparkLake(session, str(tmp_path))
    for table in ("classes", "findings", "snapshot"):
        rows = next(listed["rows"] for listed in run["tables"] if listed["file"] == f"{table}.parquet")
        found = views.table(table).select("release", "snapshot").collect()
        assert [tuple(row) for row in found] == [("1.00", run["snapshot"])] * rows, table


_PARAMETERS: dict[str, dict[str, str]] = {
    "class-history": {"class": "Class3"},
    "growing-classes": {"from": "1.00", "to": "1.20"},
    "worst-findings": {"severity": "low"},
}


@pytest.mark.parametrize("name", list(spark.named_queries()))
def test_named_queries_run(opened: spark.SparkLake, name: str) -> None:
    rows = opened.named(name, **_PARAMETERS.get(name, {})).collect()
    assert len(rows) >= 1


@pytest.fixture(scope="module")
def engine(opened: spark.SparkLake, session: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """DataFusion, the engine of `heaplake sql`, with the views of the lake."""
    datafusion = pytest.importorskip("datafusion")
    folder, context = tmp_path_factory.mktemp("views"), datafusion.SessionContext()
    for name in ("runs", "run_tables", *_rollup.TABLES):
        session.table(name).write.parquet(str(folder / name))
        context.register_parquet(name, str(folder / name))
    return context


def rows(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: plain(value) for name, value in row.items()} for row in found]


@pytest.mark.parametrize("table", ["classes", "findings", "chains"])
@pytest.mark.parametrize("by", [["release"], ["release", "label.region"]])
def test_rollups_have_the_rows_of_datafusion(opened: spark.SparkLake, engine: Any, table: str, by: list[str]) -> None:
    """One statement for both, and in the same order."""
    expected = rows(engine.sql(_rollup.statement(table, by)).to_pylist())
    assert rows([row.asDict() for row in opened.rollup(table, by).collect()]) == expected != []
    without = rows(engine.sql(_rollup.statement(table, by, run_tables=False)).to_pylist())
    assert table != "classes" or without == expected


@pytest.mark.parametrize("name", list(spark.named_queries()))
def test_named_queries_have_the_rows_of_datafusion(opened: spark.SparkLake, engine: Any, name: str) -> None:
    given, text = _PARAMETERS.get(name, {}), spark.named_queries()[name]
    code = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    for parameter, value in spark._values(name, text, dict(given)).items():
        code = re.sub(rf"\${parameter}\b", str(value) if isinstance(value, int) else f"'{value}'", code)
    expected = rows(engine.sql(code).to_pylist())
    assert rows([row.asDict() for row in opened.named(name, **given).collect()]) == expected


def test_quantiles_are_exact() -> None:
    """The arithmetic of the statement, in whole numbers, against fractions."""
    from fractions import Fraction

    for values in ([205_535, 763_195, 844_270], [0, 1, 8, 33, 41, 50], list(range(1, 11)), [7]):
        last = len(values) - 1
        for percent in (50, 90, 99):
            place = last * percent
            below, above = (place - place % 100) // 100, (place - place % 100) // 100 + (place % 100 > 0)
            low, high = values[below], values[above]
            found = low + ((high - low) * (place % 100) + 50) // 100
            exact = low + (high - low) * Fraction(place % 100, 100)
            assert found == math.floor(exact + Fraction(1, 2))
