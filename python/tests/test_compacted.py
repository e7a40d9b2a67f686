"""A compacted lake: its views are those from before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import heaplake
from heaplake import _binary, _tables, samples


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compacted")
    for release, leak in (("1.0", None), ("it's 1.1", "sessions")):
        for host in ("web1", "web2", "web3"):
            samples.write(folder / release / f"{host}.heapsnapshot", leak=leak, seed=len(release), size=0.1)
        inputs = ["analyze", folder / release, "--out", folder / "lake", "--release", release, "--label", "host={stem}"]
        _binary.run([*inputs, "--duplicates", "all", "--quiet"])
    return folder / "lake"


def _frames(lake: Path) -> dict[str, pl.DataFrame]:
    opened = heaplake.open(lake)
    frames = {}
    for table in _tables.tables().values():
        if table.of_runs and table.file in {file for run in opened.runs for file in run.files}:
            rows = opened.frame(table.name).collect()
            in_duckdb = opened.sql(f"SELECT * EXCLUDE (labels) FROM {table.name}")
            frames[table.name] = rows
            frames[f"{table.name} in DuckDB"] = in_duckdb
    return frames


def _sorted(rows: pl.DataFrame) -> pl.DataFrame:
    own = [name for name, kind in rows.schema.items() if not kind.is_nested()]
    return rows.sort(own)


def test_views_are_those_from_before(lake: Path, tmp_path: Path) -> None:
    before = _frames(lake)
    said = _binary.run_json(["lake", "compact", lake])
    assert said["runs"] == 6, said
    assert len(before) > 10
    after = _frames(lake)
    assert before.keys() == after.keys()
    for name, rows in before.items():
        if name.startswith(("duplicate_members", "snapshot")):
            assert rows.height == after[name].height
            continue
        assert_frame_equal(_sorted(rows), _sorted(after[name]))
    script = tmp_path / "views.sql"
    _binary.run(["lake", "views", lake, "--duckdb", "-o", script])
    connection = duckdb.connect()
    connection.execute(script.read_text(encoding="utf-8"))
    statement = "SELECT release, labels['host'], count(*), sum(retained_bytes) FROM classes GROUP BY ALL ORDER BY ALL"
    own = heaplake.open(lake).duckdb()
    assert connection.sql(statement).fetchall() == own.sql(statement).fetchall()
    # The folder of a table is a table of Hive's form.
    folder = f"{lake}/tables/classes/**/*.parquet"
    hive = duckdb.sql(f"SELECT count(*), min(fingerprint) FROM read_parquet('{folder}', hive_partitioning = true)")
    count, least = hive.fetchall()[0]
    assert (count, least < 0) == (before["classes"].height, True)


PAGE = Path(__file__).parents[2] / "docs/platform.md"


def _block(heading: str, language: str) -> str:
    """The first block of code below a heading of the page."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}")[1].split("\n## ")[0]
    return section.split(f"```{language}\n")[1].split("```")[0]


def test_platforms_read_what_the_page_says(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _binary.run(["lake", "compact", lake, "--quiet"])
    rows = heaplake.open(lake).frame("classes").collect().height
    (tmp_path / "lake").symlink_to(lake)
    monkeypatch.chdir(tmp_path)
    assert duckdb.sql(_block("DuckDB", "sql")).fetchall()
    names: dict[str, object] = {}
    exec(_block("Iceberg", "python").replace("/tmp/heaps", str(tmp_path)), names)  # noqa: S102
    table: Any = names["table"]
    assert len(table.scan().to_arrow()) == rows
    selected = table.scan(row_filter="release = '1.0'", selected_fields=("class", "retained_bytes", "fingerprint"))
    assert 0 < len(selected.to_arrow()) < rows
