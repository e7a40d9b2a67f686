"""`heaplake fleet analyze` on a head and two nodes on loopback, which are hurt while they work."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters import alive, fleet, kill, parent, real_cluster, started, stopping_binary, until, verify
from snapshots import write

import heaplake

pytest.importorskip("ray")
pytestmark = [pytest.mark.cluster]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with real_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Snapshots of a night: four small ones, and one that takes a while."""
    folder = tmp_path_factory.mktemp("night")
    for number in range(4):
        write(folder / f"web{number}.heapsnapshot", seed=number)
    write(folder / "large.heapsnapshot", nodes=60_000)
    return folder


@pytest.fixture(scope="module")
def plain(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake that `heaplake analyze` makes of the night."""
    lake = tmp_path_factory.mktemp("plain") / "lake"
    heaplake._binary.run(["analyze", night, "--out", lake, "--label", "host={stem}", "--quiet"])
    return lake


def tables(lake: Path) -> dict[str, bytes]:
    """All tables of a lake but the one that says how long it took."""
    paths = [path for path in sorted(lake.glob("release=*/*/*.parquet")) if path.name != "snapshot.parquet"]
    return {str(path.relative_to(lake)): path.read_bytes() for path in paths}


def assert_same(lake: Path, plain: Path) -> None:
    """Nothing lost, nothing twice, nothing else."""
    verify(lake)
    one, other = tables(lake), tables(plain)
    assert list(one) == list(other)
    assert [name for name in one if one[name] != other[name]] == []


def test_the_lake_is_that_of_one_machine(cluster: Any, night: Path, plain: Path, tmp_path: Path) -> None:
    lake, manifest = tmp_path / "lake", tmp_path / "night.jsonl"
    words = (night, "--out", lake, "--label", "host={stem}", "--manifest", manifest)
    rows, errors = fleet(cluster, *words)
    assert errors == ""
    assert [row["status"] for row in rows] == 5 * ["committed"]
    assert sorted(Path(row["input"]).name for row in rows) == sorted(path.name for path in night.iterdir())
    assert all(row["peak_memory_bytes"] > 0 and row["seconds"] > 0 and row["attempts"] == 1 for row in rows)
    assert_same(lake, plain)
    # In the order in which they ended.
    written = [json.loads(line) for line in manifest.read_text().splitlines()]
    assert sorted(written, key=lambda row: row["input"]) == rows
    again, _ = fleet(cluster, *words)
    assert [(row["status"], row["run"]) for row in again] == [("unchanged", row["run"]) for row in rows]
    # The files were too new to tell by their times whether they had changed since; or no task was needed.
    assert {row["attempts"] for row in again} <= {0, 1}
    assert_same(lake, plain)


def test_unchanged_inputs_cost_no_task(cluster: Any, night: Path, tmp_path: Path) -> None:
    lake, inputs = tmp_path / "lake", tmp_path / "night"
    shutil.copytree(night, inputs)
    time.sleep(2.1)
    words = (inputs, "--out", lake, "--label", "host={stem}")
    rows, _ = fleet(cluster, *words)

    def again(*words: Any, **options: Any) -> dict[str, tuple[str, int]]:
        found, errors = fleet(cluster, *words, **options)
        assert [row["run"] for row in found if row["status"] != "failed"] == [
            row["run"] for row in rows if row["status"] != "failed"
        ][: len(found)] or options, errors
        return {Path(row["input"]).stem: (row["status"], row["attempts"]) for row in found}

    names = [*(f"web{number}" for number in range(4)), "large"]
    assert again(*words) == dict.fromkeys(names, ("unchanged", 0))
    # A run that is gone is made again; so is one whose input changed, and a file with new times is read.
    shutil.rmtree(lake / rows[-1]["run"])
    (inputs / "web1.heapsnapshot").touch()
    found = again(*words)
    assert {name: found[name] for name in ("large", "web0", "web1", "web2")} == {
        **dict.fromkeys(("large", "web0", "web2"), ("unchanged", 0)),
        "web1": ("unchanged", 1),
    }
    assert found["web3"] == ("committed", 1)
    # Other options, other runs: the binary says what is wrong.
    assert set(again(*words, "--duplicates", "none", code=1).values()) == {("failed", 1)}


def test_a_task_over_the_time_limit_fails_alone(cluster: Any, night: Path, tmp_path: Path) -> None:
    binary, _ = stopping_binary(tmp_path, "large")
    rows, errors = fleet(cluster, night, "--out", tmp_path / "lake", "--time-limit", "5s", code=3, binary=binary)
    failed = {Path(row["input"]).stem: row for row in rows if row["status"] == "failed"}
    assert list(failed) == ["large"]
    assert (failed["large"]["kind"], failed["large"]["attempts"]) == ("timeout", 1)
    assert "large.heapsnapshot: not done after" in errors and "the time limit is 5 s" in errors
    assert len(verify(tmp_path / "lake")) == 4


def test_a_worker_that_is_killed_loses_and_doubles_nothing(
    cluster: Any, night: Path, plain: Path, tmp_path: Path
) -> None:
    binary, stopped = stopping_binary(tmp_path, "large")
    lake = tmp_path / "lake"
    driver = started(cluster, night, "--out", lake, "--label", "host={stem}", "--json", binary=binary)
    pid = stopped()
    assert not list(lake.glob("release=*/snapshot=large*"))
    kill(parent(pid))
    # Else it would go on beside the one that takes its place.
    until(lambda: not alive(pid), 10)
    out, errors = driver.communicate(timeout=120)
    assert driver.returncode == 0, errors
    attempts = {Path(row["input"]).stem: row["attempts"] for row in json.loads(out)}
    assert attempts == {"large": 2, **{f"web{number}": 1 for number in range(4)}}
    assert "large.heapsnapshot: the task was lost: its worker died: tried again" in errors
    assert_same(lake, plain)


def test_a_node_that_is_killed_loses_and_doubles_nothing(night: Path, plain: Path, tmp_path: Path) -> None:
    binary, stopped = stopping_binary(tmp_path, "large")
    lake = tmp_path / "lake"
    with real_cluster() as cluster:
        driver = started(cluster, night, "--out", lake, "--label", "host={stem}", "--json", binary=binary)
        pid = stopped()
        worker = parent(pid)
        raylet = parent(worker)
        nodes = {node.all_processes["raylet"][0].process.pid: node for node in cluster.worker_nodes}
        assert raylet in nodes
        for process in (raylet, worker):
            kill(process)
        until(lambda: not alive(pid), 10)
        out, errors = driver.communicate(timeout=180)
        assert driver.returncode == 0, errors
        rows = {Path(row["input"]).stem: row for row in json.loads(out)}
        assert rows["large"]["attempts"] == 2, errors
        assert {row["status"] for row in rows.values()} <= {"committed", "unchanged"}
    assert_same(lake, plain)


def test_a_driver_that_is_killed_goes_on(cluster: Any, night: Path, plain: Path, tmp_path: Path) -> None:
    binary, stopped = stopping_binary(tmp_path, "large")
    lake = tmp_path / "lake"
    words = (night, "--out", lake, "--label", "host={stem}", "--in-flight", 2)
    driver = started(cluster, *words, binary=binary)
    stopped()
    # The others go on meanwhile; one at least is done.
    until(lambda: list(lake.glob("release=*/*/run.json")))
    kill(driver.pid)
    driver.wait()
    done = {path.parent.name for path in lake.glob("release=*/*/run.json")}
    rows, errors = fleet(cluster, *words, binary=binary)
    status = {Path(row["run"]).name: row["status"] for row in rows}
    assert {status[name] for name in done} == {"unchanged"}, errors
    assert status[next(name for name in status if "large" in name)] == "committed"
    assert_same(lake, plain)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_driver_that_is_interrupted_ends_its_tasks(
    number: signal.Signals, code: int, cluster: Any, night: Path, tmp_path: Path
) -> None:
    binary, stopped = stopping_binary(tmp_path, "large")
    driver = started(cluster, night, "--out", tmp_path / "lake", binary=binary)
    pid = stopped()
    # The task has the name of its input, as the dashboard shows it.
    title = Path(f"/proc/{parent(pid)}/cmdline").read_text()
    assert title.startswith(f"ray::heaplake {night / 'large.heapsnapshot'}"), title
    driver.send_signal(number)
    out, errors = driver.communicate(timeout=60)
    assert driver.returncode == code, errors
    assert errors == "heaplake: interrupted\n  -> run the same command again\n"
    assert "not started" in out
    until(lambda: not alive(pid), 30)
    verify(tmp_path / "lake")


def test_a_corrupt_snapshot_fails_alone(cluster: Any, night: Path, tmp_path: Path) -> None:
    folder = tmp_path / "night"
    shutil.copytree(night, folder)
    torn = folder / "web2.heapsnapshot"
    torn.write_bytes(torn.read_bytes()[:40_000])
    (folder / "empty.heapsnapshot").write_bytes(b"")
    rows, errors = fleet(cluster, folder, "--out", tmp_path / "lake", code=1)
    failed = {Path(row["input"]).stem: row for row in rows if row["status"] == "failed"}
    assert {name: (row["kind"], row["attempts"], row["run"]) for name, row in failed.items()} == {
        "empty": ("damaged", 0, None),
        "web2": ("damaged", 1, None),
    }
    assert "web2.heapsnapshot: byte 40000: " in failed["web2"]["error"]
    assert len(errors.splitlines()) == 4, errors
    assert len(verify(tmp_path / "lake")) == len(rows) - 2 == 4


def test_too_little_memory_is_tried_again_with_more(cluster: Any, night: Path, plain: Path, tmp_path: Path) -> None:
    lake, options = tmp_path / "lake", ("--label", "host={stem}", "--memory", "20MiB")
    rows, errors = fleet(cluster, night, "--out", lake, *options)
    large = next(row for row in rows if "large" in row["input"])
    assert large["attempts"] > 1 and large["memory_bytes"] == (20 << 20) * 2 ** (large["attempts"] - 1)
    assert "with 40.0 MiB of memory: tried again" in errors
    assert_same(lake, plain)
    # Not for ever.
    (large,), errors = fleet(
        cluster, night / "large.heapsnapshot", "--out", tmp_path / "b", "--memory", "20MiB", "--retries", 0, code=3
    )
    assert (large["kind"], large["attempts"], large["exit_code"]) == ("memory", 1, 3)
    verify(tmp_path / "b")


def test_one_content_under_two_names_is_committed_as_plain_analyze_does(
    cluster: Any, night: Path, tmp_path: Path
) -> None:
    """Two inputs that become the same run: the second waits for the first."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        shutil.copy(night / "large.heapsnapshot", tmp_path / folder)
    rows, _ = fleet(cluster, tmp_path / "one", tmp_path / "two", "--out", tmp_path / "lake")
    assert sorted(row["status"] for row in rows) == ["committed", "unchanged"]
    assert len(verify(tmp_path / "lake")) == 1


def test_relative_names_begin_where_the_driver_is(cluster: Any, night: Path, plain: Path, tmp_path: Path) -> None:
    (tmp_path / "night").symlink_to(night)
    rows, _ = fleet(cluster, "night", "--out", "lake", "--label", "host={stem}", folder=tmp_path)
    assert {Path(row["input"]).parent for row in rows} == {Path("night")}
    assert_same(tmp_path / "lake", plain)


def test_ray_is_started_where_there_is_no_cluster(night: Path, plain: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "night.parquet"
    rows, errors = fleet(None, night, "--out", tmp_path / "lake", "--label", "host={stem}", "--manifest", manifest)
    assert errors == ""
    assert_same(tmp_path / "lake", plain)
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(manifest).to_pylist() == rows


def test_a_cluster_that_is_not_there_is_one_line(night: Path, tmp_path: Path) -> None:
    class Nowhere:
        address = "127.0.0.1:1"

    driver = started(Nowhere, night, "--out", tmp_path / "lake")
    _, errors = driver.communicate(timeout=120)
    assert driver.returncode == 2
    assert errors.splitlines()[0].startswith("heaplake: 127.0.0.1:1: cannot connect")
    assert len(errors.splitlines()) == 2, errors
