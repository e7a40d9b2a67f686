"""The template of GitLab and the Jenkinsfile: schema or shape, and their shell in a folder like a runner's."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import GATE
from places import DEPLOY, cases, documents, ran, sh
from test_github import downloads  # noqa: F401 - a fixture

TEMPLATE = DEPLOY / "gitlab/heaplake.gitlab-ci.yml"
JENKINSFILE = DEPLOY / "jenkins/Jenkinsfile"


def test_gitlab_schema(tmp_path: Path) -> None:
    """As a job of a pipeline: a hidden one is not checked."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.gitlab-ci"]
    command += ["--data-transform", "gitlab-ci", tmp_path / "job.yml"]
    text = re.sub(r"^\.heaplake:", "heaplake:", TEMPLATE.read_text(), flags=re.MULTILINE)
    (tmp_path / "job.yml").write_text(text)
    done = ran(command)
    assert done.returncode == 0, done.stdout
    (tmp_path / "job.yml").write_text(text.replace("when: always", "when: sometimes"))
    assert ran(command).returncode != 0


@pytest.fixture
def job(build: Path, tools: str):
    """Runs the job: before_script and script are one shell script, in which the first failing line ends it."""
    template = documents(TEMPLATE)[0][".heaplake"]

    def run(path: str = tools, **more: str) -> subprocess.CompletedProcess:
        outer = {"CI_COMMIT_SHA": "0123abc", "CI_DEFAULT_BRANCH": "main", "CI_COMMIT_BRANCH": ""}
        outer |= {"HEAPLAKE_SNAPSHOTS": "snapshots/*.zst", "HEAPLAKE_FAIL_IF": GATE} | more
        variables = {
            name: re.sub(r"\$(\w+)", lambda match: outer[match[1]], value)
            for name, value in template["variables"].items()
        }
        text = "\n".join([*template["before_script"], *template["script"]])
        return sh(text, build, variables | outer | {"PATH": path})

    return run


@pytest.mark.parametrize(("snapshot", "code"), [("s1", 0), ("s2", 4), ("damaged", 1), ("", 1)])
def test_gitlab_job_of_a_merge_request(job, build: Path, snapshots: Path, snapshot: str, code: int) -> None:
    if snapshot:
        shutil.copy(snapshots / f"{snapshot}.heapsnapshot.zst", build / "snapshots")
    before = sorted(path.name for path in (build / "heaplake-base").iterdir())
    done = job()
    assert done.returncode == code, done.stdout + done.stderr
    report = documents(TEMPLATE)[0][".heaplake"]["artifacts"]["reports"]["junit"]
    assert cases(build / report)
    # A merge request does not change the base.
    assert sorted(path.name for path in (build / "heaplake-base").iterdir()) == before


@pytest.mark.parametrize(("snapshot", "code"), [("s1", 0), ("s2", 4), ("damaged", 1)])
def test_gitlab_job_of_the_default_branch(job, build: Path, snapshots: Path, snapshot: str, code: int) -> None:
    """Its lake becomes the base, unless the analysis failed."""
    shutil.copy(snapshots / f"{snapshot}.heapsnapshot.zst", build / "snapshots")
    assert job(CI_COMMIT_BRANCH="main").returncode == code
    releases = {path.name for path in (build / "heaplake-base").glob("release=*")}
    assert releases == ({"release=base"} if code == 1 else {"release=0123abc"})


def test_gitlab_job_without_a_base(job, build: Path, snapshots: Path) -> None:
    shutil.rmtree(build / "heaplake-base")
    shutil.copy(snapshots / "s1.heapsnapshot.zst", build / "snapshots")
    assert job(CI_COMMIT_BRANCH="main").returncode == 0
    assert cases(build / "heaplake-report/junit.xml") == [("heaplake-check", "skipped")]
    assert (build / "heaplake-base/release=0123abc").is_dir()


def without_heaplake(tmp_path: Path) -> str:
    """A PATH with the tools of the template's image, and no heaplake."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in [
        "sh",
        "bash",
        "curl",
        "sha256sum",
        "mkdir",
        "tar",
        "gzip",
        "rm",
        "cp",
        "cat",
        "awk",
        "sed",
        "tail",
        "head",
    ]:
        (folder / name).symlink_to(shutil.which(name))
    for name in ["cut", "ls", "mv"]:
        (folder / name).symlink_to(shutil.which(name))
    return str(folder)


def test_gitlab_job_with_an_archive(job, downloads, build: Path, snapshots: Path, tmp_path: Path) -> None:  # noqa: F811
    url, archive = downloads
    shutil.copy(snapshots / "s1.heapsnapshot.zst", build / "snapshots")
    path = without_heaplake(tmp_path)
    given = {
        "HEAPLAKE_ARCHIVE": f"{url}/{archive.name}",
        "HEAPLAKE_SHA256": hashlib.sha256(archive.read_bytes()).hexdigest(),
    }
    done = job(path, **given)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(build / ".heaplake")
    assert job(path, **given | {"HEAPLAKE_SHA256": "0" * 64}).returncode != 0
    done = job(path)
    assert done.returncode != 0 and "HEAPLAKE_ARCHIVE" in done.stderr


def stages() -> dict[str, list[str]]:
    """The shell of each stage."""
    text = re.sub(r"^\s*//.*$", "", JENKINSFILE.read_text(), flags=re.MULTILINE)
    parts = re.split(r"stage\('(\w+)'\)", text)[1:]
    return {
        name: re.findall(r"\bsh '(.*)'$", body, re.MULTILINE)
        for name, body in zip(parts[::2], parts[1::2], strict=True)
    }


def test_jenkinsfile_has_balanced_blocks_and_its_report() -> None:
    """No parser of Jenkins is at hand: braces, quotes, and where the report is taken."""
    text = re.sub(r"^\s*//.*$", "", JENKINSFILE.read_text(), flags=re.MULTILINE)
    bare = re.sub(r"'[^'\n]*'", "", text)
    assert "'" not in bare and bare.count("{") == bare.count("}") and bare.count("(") == bare.count(")")
    # Groovy would put values into texts between double quotes, before the shell reads them.
    assert '"' not in bare
    assert re.search(r"always \{\s+junit 'heaplake-report/junit.xml'", text)


@pytest.mark.parametrize(
    ("snapshot", "code", "outcome"),
    [("s1", 0, "passed"), ("s2", 0, "failure"), ("damaged", 1, "error"), ("", 1, "error")],
)
def test_jenkins_stage(build: Path, snapshots: Path, tools: str, snapshot: str, code: int, outcome: str) -> None:
    """A failed gate leaves the step green and the JUnit file red: the build becomes unstable."""
    if snapshot:
        shutil.copy(snapshots / f"{snapshot}.heapsnapshot.zst", build / "snapshots/x.heapsnapshot.zst")
    # What the step copyArtifacts leaves.
    (build / "base").mkdir()
    os.rename(build / "heaplake-base", build / "base/heaplake-lake")
    environment = dict(re.findall(r"^\s+(HEAPLAKE_\w+) = '(.*)'$", JENKINSFILE.read_text(), re.MULTILINE))
    environment |= {
        "HEAPLAKE_SNAPSHOTS": "snapshots/*.zst",
        "HEAPLAKE_FAIL_IF": GATE,
        "PATH": tools,
        "GIT_COMMIT": "0123abc",
    }
    remove, move, check = stages()["Heap"]
    assert remove.startswith("rm -rf") and "base" in remove.split()
    ends = [sh(text, build, environment, "sh -xe").returncode for text in (move, check)]
    assert ends == [0, code]
    assert outcome in [one for _, one in cases(build / "heaplake-report/junit.xml")]
