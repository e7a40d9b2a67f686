"""What the driver decides, without a cluster; and its command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_cluster import LIMITS, FakeCluster, plan, worked
from snapshots import write

import heaplake
from heaplake.cluster import _cli, _plan, _sizes
from heaplake.cluster._driver import Driver
from heaplake.cluster._jobs import Batch
from heaplake.cluster._manifest import Manifest, line_of
from heaplake.cluster._plan import Demand, Plan, Wish
from heaplake.cluster._ray import Lost
from heaplake.cluster._sizes import MIB
from heaplake.cluster._tell import Teller


def test_a_task_takes_what_the_plan_says_within_what_nodes_have() -> None:
    large = Plan("a", nodes=5_000_000, estimated=True, resident_memory=400 * MIB, scratch=5000 * MIB)
    assert _plan.wish(large).wanted.within(LIMITS) == Demand(cores=2, memory=512 * MIB, scratch=1000 * MIB)
    told = _plan.wish(large, 64 * MIB, 3)
    assert (told.wanted, told.least) == (Demand(3, 64 * MIB, 5000 * MIB), Demand(3, 64 * MIB, 0))
    huge = Plan("a", nodes=5_000_000, resident_memory=4000 * MIB, least_memory=30 * MIB)
    assert _plan.wish(huge).wanted.within(LIMITS).memory == LIMITS.memory
    assert _plan.wish(huge).least == Demand(1, 32 * MIB, 0)
    assert _plan.wish(huge, most=100 * MIB).wanted.memory == 100 * MIB
    assert _plan.wish(huge, seen=600 * MIB).wanted.memory == 608 * MIB


def test_more_memory_is_twice_as_much_and_more_than_before() -> None:
    had = Demand(1, 600 * MIB, 0)
    wish = Wish(had, Demand(1, 16 * MIB, 0))
    more = wish.with_more_memory(had.memory, None)
    assert more is not None and (more.wanted.memory, more.least.memory) == (1200 * MIB, 616 * MIB)
    assert wish.with_more_memory(had.memory, most=600 * MIB) is None


def test_tasks_in_flight_are_bounded_and_rows_come_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster({})
    rows, _ = worked(monkeypatch, cluster, [plan(f"i{number}") for number in range(40)], in_flight=5)
    assert cluster.most == 5
    assert [row["input"] for row in rows] == [f"i{number}" for number in range(40)]


def test_scratch_in_flight_is_bounded_where_nodes_do_not_declare_it(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = [plan(f"i{number}", 300 * MIB) for number in range(10)] + [plan("huge", 9000 * MIB)]
    cluster = FakeCluster({}, declares_scratch=False)
    rows, _ = worked(monkeypatch, cluster, plans, scratch_per_node=500 * MIB)
    # Three of them on two nodes; what is too large for all nodes goes alone.
    assert cluster.most == 3 and cluster.most_scratch == 9000 * MIB
    assert len(rows) == 11


def test_what_may_succeed_is_tried_again_with_what_it_lacked(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[str, list[Any]] = {
        "a": ["memory", "memory"],
        "b": [Lost("its node died"), Lost("no memory left", memory=True)],
        "c": ["disk"],
        "d": ["damaged"],
        "e": ["held", "held"],
        "f": 9 * ["memory"],
        "g": 9 * [Lost("its node died")],
        "h": ["interrupted"],
    }
    cluster = FakeCluster(answers)
    rows, manifest = worked(monkeypatch, cluster, [plan(name) for name in answers], retries=4)
    tried = {name: [demand.memory // MIB for other, demand in cluster.started if other == name] for name in answers}
    assert tried == {
        "a": [128, 256, 512],
        "b": [128, 128, 256],
        "c": [128, 128],
        "d": [128],
        "e": [128, 128, 128],
        "f": [128, 256, 512, 1024],
        "g": 5 * [128],
        "h": [128, 128],
    }
    assert [demand.scratch // MIB for name, demand in cluster.started if name == "c"] == [100, 200]
    said = {row["input"]: (row["status"], row["kind"], row["attempts"]) for row in rows}
    assert said["e"] == ("committed", None, 1)
    assert said["f"] == ("failed", "memory", 4) and said["g"] == ("failed", "lost", 5)
    assert said["d"] == ("failed", "damaged", 1)
    assert manifest.exit_code == 3


def test_a_committed_run_is_in_this_lake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Else the node has a folder of that name for itself."""
    monkeypatch.setattr("heaplake.cluster._driver._SEEN_WITHIN_S", 0.2)
    monkeypatch.setattr(_plan, "plans", lambda *_: iter([plan("a")]))
    batch = Batch(inputs=["a"], lake=str(tmp_path), options=[], plan_options=[], binary="b", folder="/")
    manifest = Manifest(None)
    cluster: Any = FakeCluster({})
    Driver(batch, cluster, manifest, Teller(quiet=True, json_log=False, on_stdout=False)).work()
    (row,) = manifest.in_order()
    assert row["kind"] == "file" and "which is not in the lake here" in row["error"]


def test_options_are_those_of_analyze() -> None:
    """Each option of `analyze` is handed on, has a meaning of its own here, or is refused."""
    found = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", heaplake._binary.run(["analyze", "--help"]), re.MULTILINE))
    own = {"out", "memory", "threads", "quiet", "json", "summary", "color", "log-format", "verbose", "help"}
    refused = {name.replace("_", "-") for name in _cli._OF_ONE_PROCESS}
    assert found == {*_cli.OPTIONS, *_cli.FLAGS, *own, *refused}
    text = heaplake._binary.run(["fleet", "analyze", "--help"])
    both = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.MULTILINE))
    assert both - found == {
        *("address", "retries", "in-flight", "most-memory", "scratch-per-node", "wait", "time-limit", "manifest"),
    }
    parser = _cli._parser()
    told = {
        name
        for name in re.findall(r"--([a-z-]+)", " ".join(parser.parse_args(["analyze", "x", "--out", "y"]).__dict__))
    }
    assert told == set()
    known = {name.replace("_", "-") for name in vars(parser.parse_args(["analyze", "x", "--out", "y"]))}
    assert known - {"verb", "inputs"} == both - {"help"}


def test_plans_come_from_the_binary(tmp_path: Path) -> None:
    write(tmp_path / "a.heapsnapshot")
    (tmp_path / "b.heapsnapshot").write_bytes(b"")
    good, bad = _plan.plans(str(heaplake.binary()), [str(tmp_path)], ["--duplicates=none"])
    assert (good.nodes, good.failure) == (2000, None) and good.scratch > 0
    assert bad.failure is not None and bad.failure["kind"] == "damaged"
    with pytest.raises(heaplake.UsageError):
        list(_plan.plans(str(heaplake.binary()), [str(tmp_path)], ["--nonsense"]))


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (["-", "--out", "l"], "standard input cannot be sent"),
        (["a", "b", "--out", "l", "--snapshot", "s"], "--snapshot is for a single file"),
        (["a", "--out", "l", "--metrics", "m"], "--metrics is not for a cluster"),
        (["a", "--out", "l", "--memory", "much"], "'much' is no size"),
        (["a"], "the following arguments are required: --out"),
        (["a", "--out", "l", "--retries", "-1"], "a number from 0 on"),
    ],
)
def test_wrong_words_are_one_line_and_advice(words: list[str], cause: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "heaplake.fleet", "analyze", *words], capture_output=True, encoding="utf-8", check=False
    )
    first, second = done.stderr.splitlines()
    assert done.returncode == 2 and first.startswith("heaplake: ") and cause in first
    assert second.startswith("  -> ")


def test_the_last_line_counts() -> None:
    rows = [{"status": "committed"}, {"status": "unchanged"}, {"status": "failed", "kind": "lost"}]
    assert line_of(rows, 2) == "5 inputs: 1 new, 1 in the lake before, 1 failed (1 lost with its node), 2 not started"


def test_a_manifest_is_written_as_inputs_end(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    manifest = Manifest(str(path))
    manifest.add(1, {"input": "b", "status": "failed", "exit_code": 3})
    assert json.loads(path.read_text())["input"] == "b"
    manifest.add(0, {"input": "a", "status": "committed", "exit_code": 0})
    assert [row["input"] for row in manifest.in_order()] == ["a", "b"]
    with pytest.raises(heaplake.UsageError, match="cannot write"):
        Manifest(str(tmp_path / "none" / "m.jsonl"))


def test_sizes() -> None:
    assert [_sizes.parse(text) for text in ("1k", "2 MB", "1.5GiB", "7")] == [1024, 2_000_000, 3 << 29, 7]
    for bad in ("", "GiB", "1 XB", "-1"):
        with pytest.raises(ValueError, match="no size"):
            _sizes.parse(bad)
