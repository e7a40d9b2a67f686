"""The CronJobs of Kubernetes and the workflow of Argo: their schemas, rules of docs/operations.md, and each container in
namespaces with its user, its mounts and a read-only root."""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
import sys
from pathlib import Path

import boto3
import container
import pytest
import yaml
from hera.workflows.models import CronWorkflow
from moto.server import ThreadedMotoServer
from places import DEPLOY, documents, ran

CRONJOBS = [DEPLOY / "kubernetes/cronjob.yaml", DEPLOY / "kubernetes/cronjob-s3.yaml"]
ARGO = DEPLOY / "argo/heaplake-night.yaml"
MIB = {"Mi": 1, "Gi": 1024, "MiB": 1, "GiB": 1024}


@pytest.fixture(scope="session")
def root(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return container.image(binary, tmp_path_factory.mktemp("image"))


def mebibytes(text: str) -> int:
    number, unit = re.fullmatch(r"(\d+)(Mi|Gi|MiB|GiB)", text).groups()
    return int(number) * MIB[unit]


def pods() -> list[tuple[str, dict]]:
    found = [
        (path.name, job["spec"]["jobTemplate"]["spec"]["template"]["spec"])
        for path in CRONJOBS
        for job in documents(path)
    ]
    workflow = documents(ARGO)[0]["spec"]["workflowSpec"]
    for template in workflow["templates"]:
        if "container" in template:
            pod = {key: workflow[key] for key in ("securityContext", "volumes")}
            found.append((f"argo {template['name']}", pod | {"containers": [template["container"]]}))
    return found


def containers(pod: dict) -> list[dict]:
    return pod.get("initContainers", []) + pod["containers"]


def test_schemas(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kubernetes_validate", "--strict"]
    assert ran([*command, *CRONJOBS]).returncode == 0
    broken = tmp_path / "broken.yaml"
    broken.write_text(CRONJOBS[0].read_text().replace("concurrencyPolicy", "concurencyPolicy"))
    assert ran([*command, broken]).returncode != 0


def test_argo_schema() -> None:
    """The models of Argo take unknown keys without a word: each key must come back."""
    document = documents(ARGO)[0]

    def lost(given: object, kept: object, at: str) -> list[str]:
        if isinstance(given, dict) and isinstance(kept, dict):
            return [
                one
                for key in given
                for one in ([f"{at}.{key}"] if key not in kept else lost(given[key], kept[key], f"{at}.{key}"))
            ]
        if isinstance(given, list) and isinstance(kept, list):
            return [
                one
                for number, (a, b) in enumerate(zip(given, kept, strict=True))
                for one in lost(a, b, f"{at}[{number}]")
            ]
        return []

    def kept(given: dict) -> dict:
        return CronWorkflow.model_validate(given).model_dump(by_alias=True, exclude_none=True)

    assert lost(document, kept(document), "") == []
    broken = copy.deepcopy(document)
    broken["spec"]["workflowSpec"]["templates"][1]["retryStrategyy"] = {}
    assert lost(broken, kept(broken), "") == [".spec.workflowSpec.templates[1].retryStrategyy"]


@pytest.mark.parametrize(("name", "pod"), pods(), ids=lambda one: one if isinstance(one, str) else "")
def test_rules(name: str, pod: dict) -> None:
    """Closed, as the standard `restricted` has it, and sized as docs/operations.md says."""
    context = pod["securityContext"]
    assert (
        context["runAsNonRoot"]
        and context["runAsUser"] == 65532
        and context["seccompProfile"] == {"type": "RuntimeDefault"}
    )
    scratch = {volume["name"]: volume["emptyDir"]["sizeLimit"] for volume in pod["volumes"] if "emptyDir" in volume}
    assert all("hostPath" not in volume for volume in pod["volumes"])
    for one in containers(pod):
        closed = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        assert one["securityContext"] == closed
        limits, requests = one["resources"]["limits"], one["resources"]["requests"]
        budget = [word.removeprefix("--memory=") for word in one["args"] if word.startswith("--memory=")]
        if budget:
            beyond = 48 + (24 + 32 if any("s3://" in word for word in one["args"]) else 0)
            assert mebibytes(limits["memory"]) >= mebibytes(budget[0]) + beyond
        assert requests["memory"] == limits["memory"]
        if "--scratch=/scratch" in one["args"]:
            volume = next(mount["name"] for mount in one["volumeMounts"] if mount["mountPath"] == "/scratch")
            assert mebibytes(limits["ephemeral-storage"]) > mebibytes(scratch[volume])


def test_a_try_that_cannot_help_is_not_made() -> None:
    for path in CRONJOBS:
        spec = documents(path)[0]["spec"]["jobTemplate"]["spec"]
        rule = next(rule for rule in spec["podFailurePolicy"]["rules"] if rule["action"] == "FailJob")["onExitCodes"]
        assert rule["values"] == [1, 2] and rule["containerName"] == spec["template"]["spec"]["containers"][0]["name"]
    retry = documents(ARGO)[0]["spec"]["workflowSpec"]["templates"][1]["retryStrategy"]
    assert '["1", "2"]' in retry["expression"]


class Volumes:
    """Folders in place of the volumes of a pod."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in [
            "data/incoming/2.4.0",
            "data/incoming/2.4.1",
            "data/lake",
            "data/metrics",
            "scratch",
            "rollup-scratch",
        ]:
            (folder / name).mkdir(parents=True)
        (folder / "scratch").chmod(0o700)

    def mounts(self, one: dict) -> dict[str, Path]:
        return {mount["mountPath"]: self.folder / mount["name"] for mount in one["volumeMounts"]}

    def run(self, root: Path, pod: dict, one: dict, arguments: list[str] | None = None) -> subprocess.CompletedProcess:
        words = [*one.get("command", ["/usr/bin/heaplake"]), *(arguments or one["args"])]
        return container.run(root, words, self.mounts(one), pod["securityContext"]["runAsUser"], TMPDIR="/scratch")


@pytest.fixture
def volumes(tmp_path: Path, snapshots: Path) -> Volumes:
    made = Volumes(tmp_path / 'a volume\'s "place"')
    shutil.copy(snapshots / "s1.heapsnapshot.zst", made.folder / "data/incoming/2.4.0/web 1.heapsnapshot.zst")
    shutil.copy(snapshots / "s2.heapsnapshot.zst", made.folder / "data/incoming/2.4.1/web 'x'.heapsnapshot.zst")
    return made


def a_night(root: Path, volumes: Volumes, pods_of_it: list[tuple[dict, list[tuple[dict, list[str]]]]]) -> list[int]:
    codes = []
    for pod, steps in pods_of_it:
        for one, arguments in steps:
            done = volumes.run(root, pod, one, arguments)
            codes.append(done.returncode)
            if done.returncode:
                break
    return codes


def night_of_cronjobs() -> list[tuple[dict, list[tuple[dict, list[str]]]]]:
    specs = [job["spec"]["jobTemplate"]["spec"]["template"]["spec"] for job in documents(CRONJOBS[0])]
    return [(pod, [(one, one["args"]) for one in containers(pod)]) for pod in specs]


def night_of_argo() -> list[tuple[dict, list[tuple[dict, list[str]]]]]:
    spec = documents(ARGO)[0]["spec"]["workflowSpec"]
    given = {one["name"]: one["value"] for one in spec["arguments"]["parameters"]}

    def filled(word: str) -> str:
        return re.sub(r"\{\{workflow\.parameters\.(\w+)\}\}", lambda match: given[match[1]], word)

    by_name = {template["name"]: template for template in spec["templates"]}
    tasks = by_name[spec["entrypoint"]]["dag"]["tasks"]
    assert [task.get("depends") for task in tasks] == [None, "analyze.Succeeded || analyze.Failed", "rollup.Succeeded"]
    used = [by_name[task["template"]]["container"] for task in tasks]
    return [(spec, [(one, [filled(word) for word in one["args"]])]) for one in used]


NIGHTS = {"cronjob": night_of_cronjobs, "argo": night_of_argo}


@pytest.mark.parametrize("kind", NIGHTS)
def test_a_night(root: Path, volumes: Volumes, kind: str) -> None:
    assert a_night(root, volumes, NIGHTS[kind]()) == [0, 0, 0]
    lake = volumes.folder / "data/lake"
    assert {path.parent.name for path in lake.glob("release=*/*/")} == {"release=2.4.0", "release=2.4.1"}
    assert (lake / "fleet/rollup.json").exists()
    for name in ["batch", "fleet"]:
        assert (volumes.folder / f"data/metrics/heaplake-{name}.prom").read_text().endswith("# EOF\n")
    # Scratch of a run goes with it.
    assert not [path for path in (volumes.folder / "scratch").rglob("*") if path.is_file()]


@pytest.mark.parametrize("kind", NIGHTS)
def test_a_night_with_a_damaged_input(root: Path, volumes: Volumes, snapshots: Path, kind: str) -> None:
    """The analysis ends with 1, which is not tried again; the rollup has the others."""
    shutil.copy(snapshots / "damaged.heapsnapshot.zst", volumes.folder / "data/incoming/2.4.1")
    assert a_night(root, volumes, NIGHTS[kind]()) == [1, 0, 0]
    assert (volumes.folder / "data/lake/fleet/rollup.json").exists()


@pytest.mark.parametrize("kind", NIGHTS)
def test_a_night_in_which_nothing_arrived_fails(root: Path, volumes: Volumes, kind: str) -> None:
    shutil.rmtree(volumes.folder / "data/incoming")
    (volumes.folder / "data/incoming").mkdir()
    assert a_night(root, volumes, NIGHTS[kind]())[0] == 1


def test_a_lake_without_permission(root: Path, volumes: Volumes) -> None:
    pod, steps = night_of_cronjobs()[0]
    one = copy.deepcopy(steps[0][0])
    one["volumeMounts"] = [
        mount | {"mountPath": mount["mountPath"] + (":ro" if mount["name"] == "data" else "")}
        for mount in one["volumeMounts"]
    ]
    done = volumes.run(root, pod, one)
    assert done.returncode == 2 and "Read-only file system" in done.stderr


@pytest.fixture
def store():
    """A server of S3 on loopback with the buckets of the job, and a client."""
    with pytest.MonkeyPatch.context() as patch:
        keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-central-1"}
        for name, value in keys.items():
            patch.setenv(name, value)
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        client = boto3.client("s3", endpoint_url=url, region_name="eu-central-1")
        for bucket in ["snapshots", "heap-lake"]:
            client.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        yield client, keys | {"AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true"}
        server.stop()


def night_in_a_store(root: Path, volumes: Volumes, keys: dict[str, str]) -> subprocess.CompletedProcess:
    one = documents(CRONJOBS[1])[0]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]
    # The secret has the keys; what the job itself sets comes last.
    given = keys | {entry["name"]: entry["value"] for entry in one["env"]}
    return container.run(root, ["/usr/bin/heaplake", *one["args"]], volumes.mounts(one), 65532, network=True, **given)


def test_a_night_in_a_store(root: Path, volumes: Volumes, snapshots: Path, store) -> None:
    client, keys = store
    for release, name in [("2.4.0", "s1"), ("2.4.1", "s2")]:
        client.upload_file(
            str(snapshots / f"{name}.heapsnapshot.zst"), "snapshots", f"incoming/{release}/web 1.heapsnapshot.zst"
        )
    done = night_in_a_store(root, volumes, keys)
    assert done.returncode == 0, done.stderr
    listed = [one["Key"] for one in client.list_objects_v2(Bucket="heap-lake", Prefix="prod/")["Contents"]]
    for release in ["2.4.0", "2.4.1"]:
        assert [key for key in listed if key.startswith(f"prod/release={release}/") and key.endswith("/run.json")]
    assert not [path for path in (volumes.folder / "scratch").rglob("*") if path.is_file()]
    # A prefix in which nothing arrived is a failure.
    for one in client.list_objects_v2(Bucket="snapshots")["Contents"]:
        client.delete_object(Bucket="snapshots", Key=one["Key"])
    assert night_in_a_store(root, volumes, keys).returncode != 0


def test_rayjob_is_not_repeated() -> None:
    """KubeRay has its example in python/examples, which is parsed here too."""
    job = yaml.safe_load((DEPLOY.parent / "python/examples/rayjob.yaml").read_text())
    assert job["kind"] == "RayJob"
    assert "python/examples/rayjob.yaml" in (DEPLOY / "README.md").read_text()
