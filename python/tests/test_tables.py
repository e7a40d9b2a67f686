"""Every table of the contract loads in polars, DuckDB, pandas and Spark, with the right types and all its rows."""

from __future__ import annotations

import glob
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from contract import same_arrow, spark

import heaplake
from heaplake import _tables
from heaplake._tables import Table

TABLES = list(_tables.tables().values())


@pytest.fixture(scope="module")
def files(everything: heaplake.Lake, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """The files of each table: of runs, and of a comparison, a series and a rollup of them."""
    out = tmp_path_factory.mktemp("answers")
    base, target, final = (everything.run(step) for step in ("base", "target", "final"))
    everything.diff(base, target, objects=True, out=out / "diff")
    everything.diff(everything.run("log", release="1"), everything.run("log", release="2"), out=out / "traces")
    heaplake._binary.run(
        ["diff", base.path, target.path, "--objects", "--final", final.path, "--out", out / "leaks", "--quiet"]
    )
    everything.trend("label.step=*", by="label.step", out=out / "trend")
    everything.trend("snapshot=log", by="release", out=out / "trend of traces")
    rollup = everything.rollup(out=out / "rollup")
    folders = [run.path for run in everything] + [path for path in out.iterdir()] + list(rollup._folders())
    folders += sorted(Path(everything.path).glob("catalogue/segment-*"))
    return {
        table.name: [folder / table.file for folder in folders if (folder / table.file).is_file()] for table in TABLES
    }


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    from pyspark.sql import SparkSession

    options = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1", "spark.sql.session.timeZone": "UTC"}
    options["spark.driver.bindAddress"] = options["spark.driver.host"] = "127.0.0.1"
    spark = SparkSession.builder.master("local[1]").config(map=options).getOrCreate()
    yield spark
    spark.stop()


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_reader_has_its_types(table: Table, files: dict[str, list[Path]]) -> None:
    there = files[table.name]
    assert there, "no command wrote it"
    rows = sum(pq.read_metadata(file).num_rows for file in there)
    assert rows > 0, "it has no rows, so its values are not read"
    for file in there:
        stored = pq.read_schema(file)
        assert stored.names == [column.name for column in table.columns]
        assert all(same_arrow(column.type, stored.field(column.name).type) for column in table.columns), stored
        assert [stored.field(c.name).nullable for c in table.columns] == [c.nullable for c in table.columns]

    frame = pl.scan_parquet(there, glob=False).collect()
    assert (dict(frame.schema), frame.height) == (table.polars_schema(), rows)

    paths = [glob.escape(str(file)) for file in there]
    found = duckdb.read_parquet(paths, hive_partitioning=False)
    assert found.columns == [column.name for column in table.columns]
    wanted = [duckdb.sqltype(_tables.duckdb_type(column.type)) for column in table.columns]
    assert [str(kind) for kind in found.types] == [str(kind) for kind in wanted]
    assert found.pl().height == rows

    for file in there:
        loaded = pd.read_parquet(file, partitioning=None, dtype_backend="pyarrow")
        kinds = zip(table.columns, loaded.dtypes, strict=True)
        assert all(same_arrow(column.type, kind.pyarrow_dtype) for column, kind in kinds), loaded.dtypes
    assert sum(len(pd.read_parquet(file, partitioning=None)) for file in there) == rows


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_spark_has_its_types(table: Table, files: dict[str, list[Path]], session: Any, tmp_path: Path) -> None:
    # Brackets in a path are a pattern to Spark: these files get plain names.
    plain = [shutil.copy(file, tmp_path / f"{at}.parquet") for at, file in enumerate(files[table.name])]
    frame = session.read.parquet(*map(str, plain))
    types = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
    assert types == [(column.name, spark(column.type)) for column in table.columns]
    assert frame.count() == sum(pq.read_metadata(file).num_rows for file in plain)
    # Reads every value, and keeps none.
    frame.write.format("noop").mode("overwrite").save()
