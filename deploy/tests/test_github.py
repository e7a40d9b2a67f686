"""The action and the workflows of GitHub: their schemas, and their steps in an environment like a runner's."""

from __future__ import annotations

import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest
from conftest import GATE
from places import DEPLOY, cases, documents, ran, sh

ACTION = DEPLOY / "github/action.yml"
WORKFLOWS = sorted(path for path in (DEPLOY / "github").glob("*.yml") if path != ACTION)
# How GitHub runs a step: of an action with `shell: bash`, and of a workflow without.
OF_ACTION, OF_WORKFLOW = "bash --noprofile --norc -eo pipefail", "bash -e"


def valid(schema: str, *paths: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *paths]
    return ran(command)


def steps(document: dict) -> list[dict]:
    if "runs" in document:
        return document["runs"]["steps"]
    return [step for job in document["jobs"].values() for step in job["steps"]]


def test_schemas(tmp_path: Path) -> None:
    assert valid("vendor.github-actions", ACTION).returncode == 0
    done = valid("vendor.github-workflows", *WORKFLOWS)
    assert done.returncode == 0, done.stdout
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOWS[0].read_text().replace("runs-on:", "runs-om:"))
    assert valid("vendor.github-workflows", broken).returncode != 0


@pytest.mark.parametrize("path", [ACTION, *WORKFLOWS], ids=lambda path: path.name)
def test_no_expression_in_shell_text(path: Path, tmp_path: Path) -> None:
    """An expression is replaced before the shell reads the text: a value could be a command. In `env` it cannot."""
    for step in steps(documents(path)[0]):
        text = step.get("run", "")
        assert "${{" not in text, step
        script = tmp_path / "step.sh"
        script.write_text("#!/bin/bash\n" + text)
        done = ran(["shellcheck", "--severity", "warning", script])
        assert done.returncode == 0, done.stdout


def test_the_workflow_uses_inputs_and_outputs_that_exist() -> None:
    action, workflow = documents(ACTION)[0], documents(DEPLOY / "github/workflow.yml")[0]
    used = next(step for step in steps(workflow) if "deploy/github@" in step.get("uses", ""))
    assert set(used["with"]) <= set(action["inputs"])
    required = {name for name, given in action["inputs"].items() if given.get("required")}
    assert required <= set(used["with"])
    text = (DEPLOY / "github/workflow.yml").read_text()
    named = set(re.findall(r"steps\.heaplake\.outputs\.([a-z-]+)", text))
    assert named and named <= set(action["outputs"])
    written = set(re.findall(r"steps\.check\.outputs\.([a-z-]+)", ACTION.read_text()))
    assert written == set(action["outputs"])


def evaluated(text: str, context: dict[str, str]) -> str:
    """The value of an entry of `env`: names, texts and || of them."""

    def value(expression: str) -> str:
        for part in (part.strip() for part in expression.split("||")):
            found = part[1:-1] if part.startswith("'") else context[part]
            if found:
                return found
        return ""

    return re.sub(r"\$\{\{(.*?)\}\}", lambda match: value(match[1]), text)


@pytest.fixture
def act(build: Path, tools: str, tmp_path: Path):
    """Runs a step of the action with inputs, and returns its end, outputs and summary."""
    action = documents(ACTION)[0]

    def run(name: str, inputs: dict[str, str], path: str = tools, **more: str):
        given = {key: str(one.get("default", "")) for key, one in action["inputs"].items()} | inputs
        context = {f"inputs.{key}": value for key, value in given.items()}
        context |= {"github.sha": "0123abc", "github.action_repository": "someone/heaplake"}
        step = next(step for step in steps(action) if step["name"].startswith(name))
        files = {key: tmp_path / key for key in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH"]}
        for file in files.values():
            file.write_text("")
        environment = {key: evaluated(value, context) for key, value in step["env"].items()}
        environment |= (
            {key: str(file) for key, file in files.items()} | {"PATH": path, "RUNNER_TEMP": str(tmp_path)} | more
        )
        done = sh(step["run"], build, environment | {"GITHUB_ACTION_PATH": str(DEPLOY / "github")}, OF_ACTION)
        outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        return done, outputs, files["GITHUB_STEP_SUMMARY"].read_text()

    return run


INPUTS = {"snapshots": "snapshots/*.heapsnapshot.zst\n", "fail-if": f"{GATE}\n"}


@pytest.mark.parametrize(
    ("snapshot", "code", "summary"),
    [("s1", 0, "1 of 1 gates pass"), ("s2", 4, "Leaky"), ("damaged", 1, "Not passed: an input or a run failed")],
)
def test_the_step_ends_as_the_check(act, build: Path, snapshots: Path, snapshot: str, code: int, summary: str) -> None:
    shutil.copy(snapshots / f"{snapshot}.heapsnapshot.zst", build / "snapshots")
    done, outputs, text = act("Analyse", INPUTS)
    assert done.returncode == code, done.stdout + done.stderr
    assert outputs["exit-code"] == str(code) and outputs["passed"] == ("true" if code == 0 else "false")
    assert summary in text and (build / outputs["comment"]).read_text() == text
    assert cases(build / outputs["junit"])
    assert "::warning" not in done.stdout


def test_a_first_run_warns(act, build: Path, snapshots: Path) -> None:
    shutil.rmtree(build / "heaplake-base")
    shutil.copy(snapshots / "s2.heapsnapshot.zst", build / "snapshots")
    done, outputs, text = act("Analyse", INPUTS)
    assert done.returncode == 0 and "::warning title=heaplake::No lake" in done.stdout
    assert outputs["compared"] == "false" and "nothing was compared" in text


def test_hostile_inputs_stay_values(act, build: Path, snapshots: Path) -> None:
    shutil.copy(snapshots / "s1.heapsnapshot.zst", build / "snapshots/a 'b' \"c\".heapsnapshot.zst")
    hostile = "$(touch hacked) `touch hacked` '; touch hacked; \""
    done, outputs, _ = act("Analyse", INPUTS | {"labels": f"note={hostile}", "snapshots": "snapshots/a*"})
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ["memory", "gates", "undecided", "base-lake", "release", "report"]:
        done, outputs, _ = act("Analyse", INPUTS | {name: hostile})
        assert done.returncode != 0 or name in ("base-lake", "report"), name
    # Nothing below a name that another step would take for an output.
    done, outputs, _ = act("Analyse", INPUTS | {"report": "r\npassed=true"})
    assert done.returncode == 2 and outputs == {}
    assert not list(build.rglob("hacked"))


def test_empty_inputs_are_the_defaults(act, build: Path, snapshots: Path) -> None:
    shutil.copy(snapshots / "s2.heapsnapshot.zst", build / "snapshots")
    done, outputs, text = act(
        "Analyse", INPUTS | dict.fromkeys(["report", "lake", "base-lake", "labels", "undecided"], "")
    )
    assert done.returncode == 4 and outputs["comment"] == "heaplake-report/comment.md" and "Leaky" in text


def test_a_pattern_without_a_match_fails(act, build: Path) -> None:
    done, outputs, text = act("Analyse", INPUTS)
    assert done.returncode == 1 and outputs["passed"] == "false" and "no file matches" in text


@pytest.fixture(scope="session")
def downloads(binary: Path, tmp_path_factory: pytest.TempPathFactory):
    """A server on loopback with an archive of this machine's target, as a release has it."""
    folder = tmp_path_factory.mktemp("downloads")
    program = folder / "program"
    program.write_text(f'#!/bin/sh\nexec {binary} "$@"\n')
    program.chmod(0o755)
    target = f"{os.uname().machine}-unknown-linux-gnu"
    ran([DEPLOY / "archive.sh", program, target, folder], check=True)
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", folder / f"heaplake-{target}.tar.gz"
        server.shutdown()


def test_install_puts_the_archive_on_the_path(act, downloads, tmp_path: Path) -> None:
    url, _ = downloads
    version = ran([sys.executable, DEPLOY / "version.py"]).stdout.strip()
    done, _, _ = act("Install", {"version": version}, os.environ["PATH"], HEAPLAKE_DOWNLOADS=url)
    assert done.returncode == 0, done.stderr
    folder = Path((tmp_path / "GITHUB_PATH").read_text().strip())
    assert ran([folder / "heaplake", "--version"]).stdout == f"heaplake {version}\n"
    assert (folder / "heaplake-check").read_bytes() == (DEPLOY / "heaplake-check").read_bytes()


@pytest.mark.parametrize("how", ["changed", "missing", "version", "repository"])
def test_install_refuses(act, downloads, tmp_path: Path, how: str) -> None:
    url, archive = downloads
    inputs, more = {"version": "0.1.0"}, {"HEAPLAKE_DOWNLOADS": url}
    kept = archive.read_bytes()
    if how == "changed":
        archive.write_bytes(kept + b"x")
    elif how == "missing":
        more["HEAPLAKE_DOWNLOADS"] = url + "/none"
    elif how == "version":
        inputs["version"] = "1.0/../../x"
    else:
        inputs["repository"] = "a/b/$(touch hacked)"
        more = {}
    try:
        done, _, _ = act("Install", inputs, os.environ["PATH"], **more)
    finally:
        archive.write_bytes(kept)
    assert done.returncode == 2 and "::error" in done.stderr, done.stderr
    assert (tmp_path / "GITHUB_PATH").read_text() == ""


def test_steps_of_the_workflow(build: Path, tmp_path: Path) -> None:
    workflow = documents(DEPLOY / "github/workflow.yml")[0]
    named = {step["name"]: step for step in steps(workflow) if "name" in step}
    # The lake becomes the base.
    (build / "heaplake-lake").mkdir()
    (build / "heaplake-lake/new").write_text("")
    environment = {"PATH": os.environ["PATH"], "LAKE": "heaplake-lake"}
    assert sh(named["The lake becomes the base"]["run"], build, environment, OF_WORKFLOW).returncode == 0
    assert (build / "heaplake-base/new").exists() and not (build / "heaplake-lake").exists()
    # The comment: gh gets the file and the number as single words.
    said = tmp_path / "gh"
    said.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > said\n')
    said.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "NUMBER": "7", "COMMENT": "a report/comment.md"}
    assert sh(named["Comment on the pull request"]["run"], build, environment, OF_WORKFLOW).returncode == 0
    words = (build / "said").read_text().splitlines()
    assert words[:3] == ["pr", "comment", "7"] and words[-1] == "a report/comment.md"
    # What the cache restores is what it saves: its key has the path too.
    caches = [step["with"]["path"] for step in steps(workflow) if "actions/cache" in step.get("uses", "")]
    assert caches == ["heaplake-base", "heaplake-base"]


def test_the_steps_of_a_release_name_what_exists() -> None:
    text = (DEPLOY / "github/heaplake-archives.yml").read_text()
    assert "deploy/archive.sh" in text and (DEPLOY / "archive.sh").exists()
    matrix = documents(DEPLOY / "github/heaplake-archives.yml")[0]["jobs"]["archive"]["strategy"]["matrix"]["include"]
    install = (DEPLOY / "github/install.sh").read_text()
    assert all(f"target={one['target']}" in install for one in matrix)
