"""Frames are what the Parquet files say, with the columns of the run before."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from pathlib import Path

import polars as pl
import pytest
from lakes import FIXTURES, HOSTS, NIGHT, RELEASES
from polars.testing import assert_frame_equal

import heaplake
from heaplake import _tables

OF_RUN = ["release", "snapshot", "captured_at", "labels"]


def read_directly(run: heaplake.Run, table: _tables.Table) -> pl.DataFrame:
    """The view of one run from its file, without what the package does."""
    own = pl.read_parquet(run.path / table.file, glob=False)
    own = own.drop([name for name in OF_RUN if name in own.columns])
    of_run = pl.DataFrame(
        [
            pl.Series("release", [run.release]),
            pl.Series("snapshot", [run.snapshot]),
            pl.Series("captured_at", [run.captured_at], dtype=pl.Datetime("us", "UTC")),
            pl.Series("labels", [dict(run.labels)], dtype=pl.Map(pl.String, pl.String)),
        ]
    )
    return of_run.join(own, how="cross", maintain_order="left_right")


def test_views_are_the_files_of_all_runs(everything: heaplake.Lake) -> None:
    compared = 0
    for name, table in _tables.tables().items():
        if not table.of_runs:
            continue
        of_each = [read_directly(run, table) for run in everything if table.file in run.files]
        assert_frame_equal(everything.frame(name).collect(), pl.concat(of_each))
        compared += 1
    assert compared == len(everything.tables) - 1, "each table but the view of runs"


def test_a_run_has_its_own_rows(shop: heaplake.Lake) -> None:
    run = shop.run("web2", release="2.4.1")
    classes = run.tables.classes.collect()
    assert_frame_equal(classes, read_directly(run, _tables.tables()["classes"]))
    assert "nodes" in run.tables and "threads" not in run.tables and "nodes" in dir(run.tables)
    assert run.frame("threads").collect().is_empty()


def test_runs_say_what_they_are(shop: heaplake.Lake) -> None:
    assert [(run.release, run.snapshot) for run in shop] == [(r, host) for r in RELEASES for host in HOSTS]
    run = shop.run("web2", release="2.4.0")
    assert run.labels == {"host": "web2", "region": "eu"}
    assert run.captured_at == NIGHT.replace(minute=1)
    assert run.format == "v8-heapsnapshot" and run.metadata["release"] == "2.4.0"
    nodes = pl.read_parquet(run.path / "nodes.parquet")
    assert (run.nodes, run.heap_bytes) == (nodes.height, nodes["shallow_bytes"].sum())
    severities = pl.read_parquet(run.path / "findings.parquet")["severity"].to_list()
    counted = tuple(severities.count(severity) for severity in ("high", "medium", "low"))
    assert (run.severities.high, run.severities.medium, run.severities.low) == counted
    table = shop.frame("runs").collect()
    assert table["node_count"].to_list() == [run.nodes for run in shop]
    assert table["captured_at"].to_list() == [run.captured_at for run in shop]


def test_runs_are_found_by_name(shop: heaplake.Lake) -> None:
    with pytest.raises(KeyError, match="in releases 2.4.0, 2.4.1, 2.4.2"):
        shop.run("web1")
    with pytest.raises(KeyError, match="no run 'web9' in release 2.4.0"):
        shop.run("web9", release="2.4.0")


def test_conditions_reach_the_files(shop: heaplake.Lake) -> None:
    plan = shop.frame("nodes").filter(pl.col("release") == "2.4.1").select("class").explain()
    assert 'SELECTION: col("release") == "2.4.1"' in plan, plan
    assert "PROJECT 2/" in plan, "more than the class and the name of the file are read"


def test_labels_are_a_map(shop: heaplake.Lake) -> None:
    of_eu = shop.frame("classes").filter(pl.col("labels").map.get("region") == "eu")
    hosts = of_eu.select(pl.col("labels").map.get("host")).unique().collect().to_series()
    assert sorted(hosts) == ["web2", "web3"]


def test_a_selection_has_these_runs_only(shop: heaplake.Lake) -> None:
    def chosen(lake: heaplake.Lake) -> list[tuple[str, str]]:
        return [(run.release, run.snapshot) for run in lake]

    assert chosen(shop.select(release="2.4.[01]", labels={"host": "web1"})) == [("2.4.0", "web1"), ("2.4.1", "web1")]
    assert chosen(shop.select(release="2.4.0", labels={"host": ["web1", "web3"]})) == [
        ("2.4.0", "web1"),
        ("2.4.0", "web3"),
    ]
    assert {run.release for run in shop.select(since="2026-11-22", until="2026-11-22")} == {"2.4.1"}
    rows = shop.select(release="2.4.2").frame("classes").select(pl.col("release").unique()).collect()
    assert rows.to_series().to_list() == ["2.4.2"]
    with pytest.raises(heaplake.UsageError, match="no run has the release 9; the nearest: 2.4"):
        shop.select(release="9")
    none = shop.select(since="1970-01-01", until="1970-01-02")
    assert len(none) == 0 and none.frame("nodes").collect().is_empty()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_older_versions_have_todays_columns(version: int) -> None:
    with pytest.warns(heaplake.DamagedRun) if version == 1 else _nothing():
        lake = heaplake.open(FIXTURES / f"version-{version}/lake")
        frames = {name: lake.frame(name).collect() for name in lake.tables}
    for name, frame in frames.items():
        if name != "runs":
            columns = _tables.view_columns(_tables.tables()[name])
            assert dict(frame.schema) == {c.name: _tables.polars_type(c.type) for c in columns}, name
    stored = pl.read_parquet(FIXTURES / f"version-{version}/lake/release=1.4/snapshot=whole/classes.parquet")
    classes = lake.run("whole").frame("classes").collect()
    assert classes["retained_bytes"].to_list() == stored["retained_bytes"].to_list()
    assert classes["fingerprint"].null_count() == (classes.height if version < 3 else 0)
    assert lake.run("whole").captured_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc)


def test_versions_mix(tmp_path: Path) -> None:
    for version in (1, 2, 3):
        of_version = FIXTURES / f"version-{version}/lake/release=1.4/snapshot=whole"
        shutil.copytree(of_version, tmp_path / f"release={version}/snapshot=whole")
        said = tmp_path / f"release={version}/snapshot=whole/run.json"
        said.write_text(said.read_text().replace('"release": "1.4"', f'"release": "{version}"'))
    lake = heaplake.open(tmp_path)
    assert [run.release for run in lake] == ["1", "2", "3"]
    sizes = lake.frame("classes").group_by("captured_at").agg(pl.col("retained_bytes").sum()).collect()
    one = pl.read_parquet(FIXTURES / "version-3/lake/release=1.4/snapshot=whole/classes.parquet")
    assert sizes["retained_bytes"].to_list() == [3 * one["retained_bytes"].sum()]


def test_pandas_keeps_ids_and_nulls(shop: heaplake.Lake) -> None:
    frame = shop.pandas("classes")
    assert len(frame) == shop.frame("classes").collect().height
    assert str(frame["fingerprint"].dtype) == "uint64[pyarrow]"
    assert str(frame["retained_bytes"].dtype) == "int64[pyarrow]"
    assert frame["fingerprint"].to_list() == shop.frame("classes").collect()["fingerprint"].to_list()
    assert frame["native_bytes"].isna().all() and str(frame["native_bytes"].dtype) == "int64[pyarrow]"
    assert shop.runs[0].pandas("owners")["owner"].notna().all()


def test_tables_that_are_gone_or_damaged_are_told(shop: heaplake.Lake, tmp_path: Path) -> None:
    shutil.copytree(shop.path, tmp_path / "lake")
    (tmp_path / "lake/release=2.4.0/snapshot=web1/classes.parquet").unlink()
    (tmp_path / "lake/release=2.4.0/snapshot=web2/run.json").write_text("{")
    with pytest.warns(heaplake.DamagedRun, match="snapshot=web2") as told:
        lake = heaplake.open(tmp_path / "lake")
    assert len(told) == 1 and [folder.name for folder, _ in lake.damaged] == ["snapshot=web2"] and len(lake) == 8
    with pytest.warns(heaplake.DamagedRun, match="classes.parquet not there: analyse its input again"):
        rows = lake.frame("classes").select(pl.struct("release", "snapshot").n_unique()).collect().item()
    assert rows == 7


def test_unknown_tables_name_the_nearest(shop: heaplake.Lake) -> None:
    for ask in (shop.frame, shop.runs[0].frame, shop.describe):
        with pytest.raises(KeyError, match="no table 'clases'; the nearest: classes"):
            ask("clases")
    with pytest.raises(AttributeError, match="no table 'clases'; the nearest: classes"):
        _ = shop.tables.clases
    with pytest.raises(KeyError):
        shop.frame("diff_classes")


def test_columns_are_described(shop: heaplake.Lake) -> None:
    described = shop.describe("classes")
    assert described["column"].to_list() == shop.frame("classes").collect_schema().names()
    row = described.row(by_predicate=pl.col("column") == "retained_bytes", named=True)
    assert (row["type"], row["unit"], row["null"]) == ("Int64", "bytes", False) and "instance" in row["meaning"]


class _nothing:
    """No warning is expected."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None
