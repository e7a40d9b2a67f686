"""The views are the same in polars, in DuckDB and in `heaplake sql`."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from lakes import FIXTURES
from polars.testing import assert_frame_equal

import heaplake
from heaplake import _binary, _tables

VIEWS = ["runs", *(name for name, table in _tables.tables().items() if table.of_runs)]


@pytest.fixture(scope="module")
def connection(everything: heaplake.Lake) -> object:
    return everything.duckdb()


@pytest.mark.parametrize("view", VIEWS)
def test_duckdb_has_what_polars_has(view: str, everything: heaplake.Lake, connection: object) -> None:
    rows = connection.sql(f"SELECT * FROM {view}").pl()  # type: ignore[attr-defined]
    _same_rows(rows, everything.frame(view).collect())


@pytest.mark.parametrize("view", VIEWS)
def test_sql_has_what_polars_has(view: str, everything: heaplake.Lake, tmp_path: Path) -> None:
    rows = tmp_path / "rows.parquet"
    _binary.run(["sql", f"SELECT * FROM {view}", "--lake", everything.path, "--format=parquet", "--out", rows])
    _same_rows(pl.read_parquet(rows), everything.frame(view).collect())


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.filterwarnings("ignore::heaplake.DamagedRun")
def test_older_lakes_are_the_same_in_duckdb(version: int) -> None:
    lake = heaplake.open(FIXTURES / f"version-{version}/lake")
    connection = lake.duckdb()
    for view in VIEWS:
        _same_rows(connection.sql(f"SELECT * FROM {view}").pl(), lake.frame(view).collect())


def test_statements_take_parameters(shop: heaplake.Lake) -> None:
    statement = "SELECT release, max(node_count) AS most FROM runs WHERE labels['host'] = ? GROUP BY ALL ORDER BY ALL"
    expected = [(run.release, run.nodes) for run in shop if run.labels["host"] == "web3"]
    assert shop.sql(statement, ["web3"]).rows() == expected
    assert shop.sql(statement.replace("?", "$host"), {"host": "web3"}).rows() == expected


def test_joins_within_a_run(shop: heaplake.Lake) -> None:
    largest = shop.sql("""
        SELECT release, snapshot, class, n.retained_bytes
        FROM classes JOIN nodes AS n USING (release, snapshot, class_id, class)
        WHERE class = 'Session' QUALIFY row_number() OVER (PARTITION BY release, snapshot ORDER BY n.node) = 1""")
    assert largest.height == len(shop) and largest["retained_bytes"].min() == 456


def test_a_selection_opens_its_files_only(shop: heaplake.Lake) -> None:
    some = shop.select(release="2.4.1")
    assert some.sql("SELECT DISTINCT release FROM classes").rows() == [("2.4.1",)]
    assert some.sql("SELECT count(*) FROM threads").item() == 0


def _same_rows(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    """The same columns, types and rows, in any order: engines read files side by side."""
    assert found.schema == expected.schema
    key = [name for name, kind in expected.schema.items() if not kind.is_nested()]
    assert_frame_equal(found.sort(key, maintain_order=True), expected.sort(key, maintain_order=True))
