"""Views of a lake in other engines: `heaplake lake views`."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import heaplake
from heaplake import _binary, samples


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views")
    for release, leak in (("1.0", None), ("it's 1.1", "sessions")):
        for host in ("web1", "web2"):
            samples.write(folder / release / f"{host}.heapsnapshot", leak=leak, seed=len(release), size=0.2)
        inputs = ["analyze", folder / release, "--out", folder / "lake", "--release", release, "--label", "host={stem}"]
        _binary.run([*inputs, "--quiet"])
    return folder / "lake"


def test_views_of_duckdb_are_those_of_the_package(lake: Path, tmp_path: Path) -> None:
    script = tmp_path / "views.sql"
    _binary.run(["lake", "views", lake, "--duckdb", "-o", script])
    connection = duckdb.connect()
    connection.execute(script.read_text(encoding="utf-8"))
    own = heaplake.open(lake).duckdb()
    for statement in (
        "SELECT release, labels['host'], count(*), sum(retained_bytes) FROM classes GROUP BY ALL ORDER BY ALL",
        "SELECT release, snapshot, max(retained_bytes) FROM nodes GROUP BY ALL ORDER BY ALL",
        "SELECT snapshot, severity, bytes, captured_at FROM findings ORDER BY ALL",
        "SELECT release, snapshot, shallow_bytes, high_findings FROM runs ORDER BY ALL",
    ):
        assert connection.sql(statement).fetchall() == own.sql(statement).fetchall(), statement
    hosts = connection.sql("SELECT DISTINCT host FROM classes ORDER BY ALL").fetchall()
    assert hosts == [("web1",), ("web2",)]
    # A run that was dropped since is in no view.
    _binary.run(["lake", "drop", lake, "--label", "host=web2", "--release", "1.0", "--yes", "--quiet"])
    assert connection.sql("SELECT count(*) FROM runs").fetchall() == [(3,)]
    assert connection.sql("SELECT count(DISTINCT (release, snapshot)) FROM classes").fetchall() == [(3,)]
