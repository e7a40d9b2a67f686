"""`heaplake fleet analyze` on clusters whose nodes come and go, and on one that begins with none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters import LOOPBACK, autoscaling_cluster, fleet, real_cluster, started, until, verify
from snapshots import write

pytest.importorskip("ray")
pytestmark = [pytest.mark.cluster]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    for number in range(3):
        write(folder / f"web{number}.heapsnapshot", seed=number)
    return folder


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without cores, and no other node."""
    with real_cluster(nodes=0) as cluster:
        yield cluster


def add_node(cluster: Any, memory: int = 1 << 30) -> Any:
    common = {"node_ip_address": LOOPBACK, "object_store_memory": 80 << 20}
    return cluster.add_node(num_cpus=1, memory=memory, resources={"heaplake_scratch": 2000}, **common)


def test_a_cluster_without_nodes_ends_each_input_with_an_error(cluster: Any, inputs: Path, tmp_path: Path) -> None:
    rows, errors = fleet(cluster, inputs, "--out", tmp_path / "lake", "--wait", "3s", code=3)
    assert {(row["kind"], row["attempts"], row["exit_code"]) for row in rows} == {("infeasible", 0, 3)}
    first = inputs / "web0.heapsnapshot"
    assert f"heaplake: no node can take {first}: the cluster has no node with a core\n" in errors
    assert f"heaplake: waiting for a node: {first} and 2 more: the cluster has no node with a core" in errors


def test_nodes_that_come_later_are_used_and_those_that_went_are_not(cluster: Any, inputs: Path, tmp_path: Path) -> None:
    driver = started(cluster, inputs, "--out", tmp_path / "lake", "--json", "--log-format", "json")
    until(lambda: "waiting" in driver.stderr.readline(), 30)
    small = add_node(cluster)
    out, errors = driver.communicate(timeout=120)
    assert driver.returncode == 0, errors
    assert {row["status"] for row in json.loads(out)} == {"committed"}
    assert len(verify(tmp_path / "lake")) == 3

    # The largest node dies; what only it could take ends with an error, the others go on.
    large = add_node(cluster, memory=4 << 30)
    until(lambda: len([one for one in _nodes(cluster) if one.get("CPU")]) == 2, 30)
    words = (inputs, "--out", tmp_path / "other", "--memory", "2GiB", "--wait", "4s", "--json")
    driver = started(cluster, *words)
    until(lambda: list((tmp_path / "other").glob("release=*/*/run.json")), 60)
    cluster.remove_node(large, allow_graceful=False)
    out, errors = driver.communicate(timeout=120)
    rows = json.loads(out)
    failed = [row for row in rows if row["status"] == "failed"]
    assert driver.returncode == (3 if failed else 0), errors
    for row in failed:
        assert row["kind"] == "infeasible"
        assert row["error"] == f"no node can take {row['input']}: it needs 2.0 GiB, the largest has 976.0 MiB"
    # The node may have died between a commit and its report.
    assert len(verify(tmp_path / "other", killed=True)) >= 3 - len(failed)
    cluster.remove_node(small, allow_graceful=False)


def _nodes(cluster: Any) -> list[dict[str, float]]:
    import ray

    with ray.init(cluster.address, log_to_driver=False, logging_level="ERROR"):
        return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def test_an_autoscaler_adds_nodes_for_the_tasks(inputs: Path, tmp_path: Path) -> None:
    """The head has no cores, and there is no other node: as in KubeRay with no replicas."""
    with autoscaling_cluster(tmp_path) as cluster:
        words = (inputs, "--out", tmp_path / "lake", "--log-format", "json")
        rows, errors = fleet(cluster, *words)
        assert {row["status"] for row in rows} == {"committed"}, errors
        assert "the cluster has no node with a core" in errors
        assert len(verify(tmp_path / "lake")) == 3
        # No node type has what it needs, and the autoscaler adds none.
        (row,), errors = fleet(
            cluster, inputs / "web0.heapsnapshot", "--out", tmp_path / "b", "--memory", "2GiB", "--wait", "6s", code=3
        )
        assert row["error"].startswith("no node can take ") and row["kind"] == "infeasible"
