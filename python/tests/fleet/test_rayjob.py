"""The example for KubeRay: it parses, and its command is one that the command line takes."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import heaplake
from heaplake.cluster import _cli

yaml = pytest.importorskip("yaml")

EXAMPLE = Path(__file__).parents[2] / "examples/rayjob.yaml"


@pytest.fixture(scope="module")
def job() -> Any:
    return yaml.safe_load(EXAMPLE.read_text())


def test_the_command_is_one_of_the_command_line(job: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(job["spec"]["entrypoint"])
    assert words[:3] == ["heaplake", "fleet", "analyze"]
    batch = _cli._batch(_cli._parser().parse_args(words[2:]))
    assert batch.lake == "/data/lake" and batch.most_memory == 14 << 30
    # The binary takes the same words, and hands them to Python.
    heard = tmp_path / "python"
    heard.write_text(f'#!/bin/sh\nif [ "$1" = -c ]; then exit 0; fi\nprintf \'%s\\n\' "$@" > {tmp_path / "words"}\n')
    heard.chmod(0o755)
    monkeypatch.setenv("HEAPLAKE_PYTHON", str(heard))
    heaplake._binary.run(words[1:])
    assert (tmp_path / "words").read_text().splitlines() == ["-m", "heaplake.fleet", *words[2:]]


def test_the_cluster_begins_with_nothing_but_a_head(job: Any) -> None:
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    spec = job["spec"]["rayClusterSpec"]
    assert spec["enableInTreeAutoscaling"] and spec["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    (group,) = spec["workerGroupSpecs"]
    assert group["minReplicas"] == group["replicas"] == 0 < group["maxReplicas"]


def test_pods_have_what_the_command_names(job: Any) -> None:
    spec = job["spec"]["rayClusterSpec"]
    (group,) = spec["workerGroupSpecs"]
    images = set()
    for pod in (spec["headGroupSpec"]["template"]["spec"], group["template"]["spec"]):
        (container,) = pod["containers"]
        images.add(container["image"])
        mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
        assert set(mounts) == {"/data", "/scratch"}
        assert set(mounts.values()) == {volume["name"] for volume in pod["volumes"]}
        absolute = [word for word in shlex.split(job["spec"]["entrypoint"]) if word.startswith("/")]
        assert all(any(word == at or word.startswith(f"{at}/") for at in mounts) for word in absolute)
    assert len(images) == 1
    # Its version of Ray is that of the tests.
    requirements = Path(__file__).parents[2] / "requirements.txt"
    assert f"ray=={spec['rayVersion']}" in requirements.read_text().splitlines()


def test_workers_declare_less_scratch_than_they_have(job: Any) -> None:
    (group,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    declared = json.loads(json.loads(group["rayStartParams"]["resources"]))["heaplake_scratch"]
    (limit,) = (one["emptyDir"]["sizeLimit"] for one in group["template"]["spec"]["volumes"] if "emptyDir" in one)
    assert limit.endswith("Gi") and declared < int(limit[:-2]) * 1024
    memory = group["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"]
    assert memory.endswith("Gi") and 14 < int(memory[:-2])


def test_the_page_names_the_example() -> None:
    page = (EXAMPLE.parents[2] / "docs/fleet.md").read_text()
    assert "../python/examples/rayjob.yaml" in page
