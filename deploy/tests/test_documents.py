"""deploy/README.md and docs/deploy.md: every file is named, and every path that they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from places import DEPLOY, ROOT, files_of_git, ran

PAGE, TABLE = ROOT / "docs/deploy.md", DEPLOY / "README.md"


def test_the_table_has_each_file() -> None:
    files = {str(path.relative_to(DEPLOY)) for path in files_of_git(DEPLOY)}
    named = set(re.findall(r"\]\(([^)#]+)\)", TABLE.read_text()))
    own = {name for name in files if not name.startswith("tests/")} - {"README.md", "ruff.toml", "requirements.txt"}
    assert own - named == set()


@pytest.mark.parametrize("page", [PAGE, TABLE], ids=lambda page: page.parent.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        path = link.partition("#")[0]
        assert link.startswith("http") or (page.parent / path).exists(), link


def test_tests_that_the_table_names_exist() -> None:
    named = set(re.findall(r"`(test_\w+\.py)`", TABLE.read_text()))
    assert named == {path.name for path in (DEPLOY / "tests").glob("test_*.py")}


def test_gates_of_the_examples_are_gates(binary: Path, lakes: Path) -> None:
    """Those of the page, the workflow, the template and the Jenkinsfile: understood, and true of no run beside itself."""
    workflow = yaml.safe_load((DEPLOY / "github/workflow.yml").read_text())
    used = next(step for step in workflow["jobs"]["heap"]["steps"] if step.get("id") == "heaplake")
    gates = set(used["with"]["fail-if"].splitlines())
    assert len(gates) == 2
    for path in [PAGE, DEPLOY / "gitlab/heaplake.gitlab-ci.yml", DEPLOY / "jenkins/Jenkinsfile"]:
        found = re.findall(r"HEAPLAKE_FAIL_IF(?:=|: | = )'([^']+)'", path.read_text())
        assert found, path
        gates |= set(found)
    for gate in gates:
        done = ran([binary, "diff", lakes / "base", lakes / "base", "--fail-if", gate])
        assert done.returncode == 0, (gate, done.stderr)


def scripts() -> list[Path]:
    """All files that begin with a line for a shell."""
    return [
        path
        for path in DEPLOY.rglob("*")
        if path.is_file() and re.match(rb"#!/(bin/|usr/bin/env )(ba)?sh", path.read_bytes()[:30])
    ]


def test_shell_scripts_are_clean() -> None:
    assert len(scripts()) == 3
    done = ran(["shellcheck", *scripts()])
    assert done.returncode == 0, done.stdout
