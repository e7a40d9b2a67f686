"""A lake in an object store: the frames, views and answers of the same lake in a folder."""

from __future__ import annotations

import os
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from lakes import FIXTURES, NIGHT
from polars.testing import assert_frame_equal

import heaplake
from heaplake import _binary, _tables, samples

SERVER = FIXTURES.parent / "stores/server.py"
BUCKET = "heaplake-test"

#: What a run measures of itself, and where it is.
OWN = {"path", "stages", "scratch_bytes", "peak_rss_bytes", "table_bytes"}
#: Release, name, leak. Names are awkward on purpose: what is a pattern, an escape or a blank to many readers.
RUNS = [("2.4.0", "web1", None), ("2.4.1", "web [1]*?", "sessions"), ("2.4+%20 ü", "web1", "sessions")]


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A URL in an empty bucket of a server on loopback, which the environment names."""
    python = os.environ.get("HEAPLAKE_STORES_PYTHON")
    assert python, "HEAPLAKE_STORES_PYTHON names a Python with moto: run make test-fleet"
    server = subprocess.Popen([python, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
    assert server.stdin and server.stdout
    endpoint = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    # Moto knows requests of S3 by their credentials.
    who = {"Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request"}
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT", headers=who)).close()
    environment = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield f"s3://{BUCKET}"
    server.stdin.close()
    server.wait()


@pytest.fixture(scope="module")
def lakes(bucket: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[heaplake.Lake, heaplake.Lake]:
    """A lake in the bucket, and the same in a folder."""
    folder = tmp_path_factory.mktemp("both")
    for at, (release, name, leak) in enumerate(RUNS):
        snapshot = samples.write(
            folder / f"{at}.heapsnapshot", leak=leak, seed=at, size=0.2, tracked=True, captured_at=NIGHT
        )
        for out in (f"{bucket}/lake", folder / "lake"):
            options = ["--edges", "--values", "--duplicates", "all"]
            labels = {"host": name}
            heaplake.analyze(snapshot, out=out, release=release, snapshot=name, labels=labels, options=options)
    for out in (f"{bucket}/lake/", folder / "lake"):
        heaplake.replay(FIXTURES / "dotnet/both.log.zst", out=out, snapshot="log", options=["--tracks"])
    return heaplake.open(f"{bucket}/lake/"), heaplake.open(folder / "lake")


VIEWS = ["runs", *(name for name, table in _tables.tables().items() if table.of_runs)]


def test_a_lake_is_what_it_is_in_a_folder(lakes: tuple[heaplake.Lake, heaplake.Lake]) -> None:
    there, here = lakes
    assert repr(there) == f"<Lake s3://{BUCKET}/lake: 4 runs of 4 releases>"
    assert there.damaged == () and len(there) == len(here) == 4
    for one, other in zip(there, here, strict=True):
        assert (one.release, one.snapshot, one.captured_at) == (other.release, other.snapshot, other.captured_at)
        assert (one.files, one.labels, one.severities) == (other.files, other.labels, other.severities)
    assert [run.release for run in there.select(labels={"host": "web1"})] == ["2.4+%20 ü", "2.4.0"]
    assert len(there.refresh()) == 4
    assert "2.4.1" in there._repr_html_()


@pytest.mark.parametrize("view", VIEWS)
def test_frames_are_those_of_a_folder(view: str, lakes: tuple[heaplake.Lake, heaplake.Lake]) -> None:
    there, here = lakes
    one, other = there.frame(view).collect(), here.frame(view).collect()
    if view in ("runs", "snapshot"):
        # One measures the work.
        measured = [name for name in one.columns if name in OWN or "seconds" in name]
        one, other = one.drop(measured), other.drop(measured)
    _same_rows(one, other)


@pytest.mark.parametrize("view", VIEWS)
def test_views_are_those_of_polars(view: str, lakes: tuple[heaplake.Lake, heaplake.Lake], tmp_path: Path) -> None:
    there, rows = lakes[0], tmp_path / "rows.parquet"
    expected = there.frame(view).collect()
    _same_rows(there.sql(f"SELECT * FROM {view}"), expected)
    _binary.run(["sql", f"SELECT * FROM {view}", "--lake", there.path, "--format=parquet", "--out", rows])
    _same_rows(pl.read_parquet(rows), expected)


def test_answers_are_those_of_a_folder(lakes: tuple[heaplake.Lake, heaplake.Lake]) -> None:
    there, here = lakes
    one, other = (lake.run("web [1]*?") for lake in lakes)
    assert one.findings().height > 0
    assert_frame_equal(one.findings(), other.findings())
    assert_frame_equal(one.top(5), other.top(5))
    node = int(one.top(1)["node"][0])
    assert_frame_equal(one.why(node), other.why(node))
    assert_frame_equal(one.dominators(), other.dominators())
    diffs = [lake.diff(lake.run("web1", release="2.4.0"), lake.run("web [1]*?")) for lake in lakes]
    classes = [diff.frame("classes").collect() for diff in diffs]
    assert classes[0].height > 3
    assert_frame_equal(*classes)
    assert there.rollup().frame("classes").collect().height == here.rollup().frame("classes").collect().height > 3


def test_a_selection_reads_its_files_only(lakes: tuple[heaplake.Lake, heaplake.Lake]) -> None:
    some = lakes[0].select(release="2.4.1")
    assert some.frame("classes").collect()["release"].unique().to_list() == ["2.4.1"]
    assert some.sql("SELECT DISTINCT snapshot FROM classes").rows() == [("web [1]*?",)]
    assert lakes[0].pandas("owners")["release"].nunique() == 3


def test_a_compacted_lake_has_the_frames_from_before(bucket: str, tmp_path: Path) -> None:
    lake = f"{bucket}/compacted"
    for at, (_, name, leak) in enumerate(RUNS[:2]):
        snapshot = samples.write(tmp_path / f"{at}.heapsnapshot", leak=leak, seed=at, size=0.1, captured_at=NIGHT)
        heaplake.analyze(snapshot, out=lake, release=RUNS[2][0], snapshot=name, labels={"host": name})
    before = {name: heaplake.open(lake).frame(name).collect() for name in VIEWS[1:]}
    assert _binary.run_json(["lake", "compact", lake])["runs"] == 2
    compacted = heaplake.open(lake)
    for name, rows in before.items():
        _same_rows(compacted.frame(name).collect(), rows)
        _same_rows(compacted.sql(f"SELECT * FROM {name}"), rows)


def test_other_stores_are_refused_by_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    run = {
        "path": "gs://bucket/lake/release=1/snapshot=a",
        "labels": {},
        "findings": {"high": 0, "medium": 0, "low": 0},
    }
    rest = dict.fromkeys(
        ("release", "snapshot", "format", "nodes", "heap_bytes", "allocations", "allocated_bytes", "captured_at")
        + ("input_bytes", "disk_bytes", "partial", "texts")
    )
    details = {"folder": None, "night": None, "packed": [], "tables": [], "missing": []}
    said = {"runs": [run | rest | {"details": details}], "damaged": []}
    monkeypatch.setattr(_binary, "run_json", lambda arguments: said)
    with pytest.raises(heaplake.UsageError, match=r"gs://bucket/lake.*DuckDB reads lakes in s3:// only"):
        heaplake.open("gs://bucket/lake").duckdb()


def _same_rows(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    """The same columns, types and rows, in any order."""
    assert found.schema == expected.schema
    key = [name for name, kind in expected.schema.items() if not kind.is_nested()]
    assert_frame_equal(found.sort(key, maintain_order=True), expected.sort(key, maintain_order=True))
