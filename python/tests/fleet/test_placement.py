"""What no node can take: how long it waits, what is said of it, and when it asks for less."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_cluster import LIMITS, FakeCluster, plan, worked

from heaplake.cluster import _jobs, _placement, _plan
from heaplake.cluster._ahead import DEPTH
from heaplake.cluster._observed import Observed
from heaplake.cluster._plan import OVERHEAD, Limits, Plan
from heaplake.cluster._sizes import GIB, MIB
from heaplake.cluster._tell import Teller

HUGE = Plan("huge", nodes=10, least_memory=3200 * MIB, resident_memory=3200 * MIB)


class ChangingCluster(FakeCluster):
    """A cluster whose limits change some time after it began."""

    def __init__(self, after: float, first: Limits | None, then: Limits | None, **options: Any) -> None:
        super().__init__({}, limits=first, **options)
        self.at, self.then = time.monotonic() + after, then

    def refresh(self) -> None:
        if time.monotonic() > self.at:
            self.now = self.then


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing takes seconds."""
    monkeypatch.setattr(_placement, "_SETTLE_S", 0.05)


def test_an_input_that_no_node_can_take_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster({})
    rows, manifest = worked(monkeypatch, cluster, [plan("a"), HUGE, plan("b")], wait=0.3)
    assert [row["status"] for row in rows] == ["committed", "failed", "committed"]
    (row,) = (row for row in rows if row["input"] == "huge")
    assert row["error"] == "no node can take huge: it needs 3.1 GiB, the largest has 1.0 GiB"
    assert (row["kind"], row["attempts"], row["exit_code"], manifest.exit_code) == ("infeasible", 0, 3, 3)
    # Ray had it meanwhile: an autoscaler adds nodes for tasks that wait.
    assert ("huge", 3200) in [(name, demand.memory // MIB) for name, demand in cluster.started]
    assert "huge" in cluster.cancelled


def test_thousands_that_no_node_can_take_wait_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = [Plan(f"huge{number}", nodes=10, least_memory=3200 * MIB) for number in range(200)]
    start = time.monotonic()
    rows, _ = worked(monkeypatch, FakeCluster({}), [*plans, plan("a")], wait=0.5, in_flight=4)
    assert [row["status"] for row in rows] == 200 * ["failed"] + ["committed"]
    assert time.monotonic() - start < 5


def test_more_cores_than_any_node_has_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = worked(monkeypatch, FakeCluster({}), [plan("a")], wait=0.1, cores=9)
    assert rows[0]["error"] == "no node can take a: it needs 9 cores, the largest has 4"


def test_a_larger_node_that_comes_takes_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = ChangingCluster(0.5, LIMITS, Limits(cores=4, memory=8 * GIB, scratch=1000 * MIB))
    rows, _ = worked(monkeypatch, cluster, [HUGE], wait=30)
    assert rows[0]["status"] == "committed" and rows[0]["memory_bytes"] == 3200 * MIB


def test_tasks_of_the_largest_node_ask_for_less_once_it_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that a plan wants is not memory that it needs."""

    class Busy(ChangingCluster):
        def wait(self, tasks: Any, seconds: float) -> list[int]:
            return [] if self.now is not self.then else super().wait(tasks, seconds)

    large = Plan("a", nodes=10, least_memory=40 * MIB, resident_memory=2 * GIB)
    cluster = Busy(0.3, Limits(4, 4 * GIB, 1000 * MIB), LIMITS)
    rows, _ = worked(monkeypatch, cluster, [large], wait=30)
    assert [demand.memory // MIB for _, demand in cluster.started] == [2048, 1024]
    assert rows[0]["status"] == "committed" and cluster.cancelled == ["a"]


def test_a_cluster_without_nodes_is_given_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = ChangingCluster(0.5, None, LIMITS)
    cluster.scales = True
    rows, _ = worked(monkeypatch, cluster, [plan(f"i{number}") for number in range(6)])
    assert [row["status"] for row in rows] == 6 * ["committed"]
    assert len(cluster.started) == 6, "each once, before there was a node"


def test_a_cluster_without_nodes_is_asked_for_less_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """No node type may have what the plan wants."""
    cluster = FakeCluster({}, limits=None)
    large = Plan("a", nodes=10, least_memory=40 * MIB, resident_memory=2 * GIB)
    rows, _ = worked(monkeypatch, cluster, [large], wait=1.0)
    assert [demand.memory // MIB for _, demand in cluster.started] == [2048, 48]
    assert rows[0]["error"] == "no node can take a: the cluster has no node with a core"


def test_what_is_waited_for_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[tuple[str, int]] = []
    monkeypatch.setattr(Teller, "waits", lambda _, what, inputs, seconds: heard.append((what, inputs)))
    worked(monkeypatch, FakeCluster({}), [HUGE], wait=0.4)
    assert heard == [("huge: it needs 3.1 GiB, the largest has 1.0 GiB", 1)]
    monkeypatch.undo()
    capsys.readouterr()
    Teller(quiet=False, json_log=False, on_stdout=False).waits("huge: it needs 3.1 GiB", 1, 599.6)
    Teller(quiet=False, json_log=True, on_stdout=False).waits("huge: it needs 3.1 GiB", 2, 599.6)
    text, event = capsys.readouterr().err.splitlines()
    assert text == "heaplake: waiting for a node: huge: it needs 3.1 GiB (600 s more)"
    assert json.loads(event).items() >= {"event": "waiting", "inputs": 2, "seconds": 600}.items()


@pytest.mark.parametrize(("scales", "is_local", "wait"), [(True, False, 600), (None, False, 600), (False, False, 60)])
def test_how_long_it_waits(scales: bool | None, is_local: bool, wait: float, batch: Callable[..., Any]) -> None:
    cluster: Any = FakeCluster({})
    cluster.scales, cluster.is_local = scales, is_local
    assert _placement.Placement(batch(), cluster).wait == wait
    assert _placement.Placement(batch(wait=5.0), cluster).wait == 5
    cluster.is_local = True
    assert _placement.Placement(batch(), cluster).wait == 0


@pytest.fixture
def batch() -> Callable[..., Any]:
    from heaplake.cluster._jobs import Batch

    known: dict[str, Any] = {"inputs": [], "lake": "l", "options": [], "plan_options": [], "binary": "b", "folder": "/"}
    return lambda **options: Batch(**known, **options)


def like(name: str, size: int, **options: Any) -> Plan:
    return Plan(name, bytes=size, nodes=10, resident_memory=400 * MIB, least_memory=20 * MIB, **options)


def test_requests_follow_what_like_inputs_took() -> None:
    seen = Observed()
    asked = like("d.hprof", 100 * MIB)
    for number in range(2):
        seen.done(like(f"{number}.hprof", 100 * MIB), OVERHEAD + 232 * MIB)
    assert seen.memory(asked) is None, "too few"
    seen.done(like("c.hprof", 50 * MIB), OVERHEAD + 132 * MIB)
    assert seen.memory(asked) == 240 * MIB * 1.25
    assert seen.memory(like("d.hprof.gz", 100 * MIB)) is None, "compressed inputs have another proportion"
    assert seen.memory(like("d.hprof", 1 * MIB)) is None, "small inputs take what any does"
    assert seen.memory(like("d.hprof", 200 * MIB)) == (32 + 400) * MIB * 1.25
    seen.ran_out(like("e.hprof", 100 * MIB), 512 * MIB)
    assert seen.memory(asked) == seen.needed(asked) == 512 * MIB


def test_later_inputs_begin_with_the_memory_that_earlier_ones_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster({"a.hprof": ["memory", "memory"]})
    plans = [Plan(f"{name}.hprof", bytes=10 * MIB, nodes=10) for name in "abc"]
    monkeypatch.setattr(_jobs, "_PAUSE_S", 0.0)
    rows, _ = worked(monkeypatch, cluster, plans, memory=100 * MIB, in_flight=1)
    assert [(row["memory_bytes"] // MIB, row["attempts"]) for row in rows] == [(400, 3), (400, 1), (400, 1)]


# Plans without end, each noted in a file.
_ENDLESS = """#!{python}
import json, sys
if sys.argv[1] == "plan":
    for number in range(100_000):
        line = dict(input=f"i{{number}}", bytes=1, nodes=1, estimated=False, least_memory=1, resident_memory=1, scratch=0)
        print(json.dumps(line | dict(padding="x" * 4000)) , flush=True)
        open("{planned}", "w").write(str(number))
"""


def test_plans_are_made_while_tasks_run_and_few_ahead(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    binary, planned = tmp_path / "heaplake", tmp_path / "planned"
    binary.write_text(_ENDLESS.format(python=sys.executable, planned=planned))
    binary.chmod(0o755)
    plans = _plan.plans(str(binary), ["x"], [])

    class Stopping(FakeCluster):
        """Its tasks do not end, and the user has enough of it."""

        def wait(self, tasks: Any, seconds: float) -> list[int]:
            time.sleep(0.1)
            if len(self.started) == 8 and time.monotonic() > start + 2:
                raise KeyboardInterrupt
            return []

        def stop(self, tasks: Any, seconds: float) -> None:
            monkeypatch.setattr(self, "wait", lambda *_: [])

    start, cluster = time.monotonic(), Stopping({})
    with pytest.raises(KeyboardInterrupt):
        worked(monkeypatch, cluster, plans, in_flight=8)
    assert len(cluster.started) == 8
    # Those that run and wait, the queue, and some in the pipe.
    assert int(planned.read_text()) < 8 + 16 + DEPTH + 64
