"""Folders of the repository, and small helpers of tests."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import yaml

DEPLOY = Path(__file__).parent.parent
ROOT = DEPLOY.parent
FIXTURES = ROOT / "tests/fixtures"


def ran(command: list, check: bool = False, timeout: int = 300, **options) -> subprocess.CompletedProcess:
    """Runs a command, and keeps what it prints."""
    return subprocess.run(command, check=check, timeout=timeout, capture_output=True, text=True, **options)


def files_of_git(folder: Path) -> list[Path]:
    """Files of a folder that git keeps, or would."""
    listed = ran(["git", "-C", folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True)
    return [folder / name for name in sorted(set(listed.stdout.split("\0"))) if name and (folder / name).exists()]


def documents(path: Path) -> list[dict]:
    return list(yaml.safe_load_all(path.read_text()))


def result_of(folder: Path, report: str = "heaplake-report") -> dict[str, str]:
    """What heaplake-check says of a build."""
    lines = (folder / report / "result").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def cases(junit: Path) -> list[tuple[str, str]]:
    """Name and outcome of each case of a JUnit file, whose counts must be right."""
    root = ElementTree.parse(junit).getroot()
    found = []
    for suite in root.iter("testsuite"):
        kinds = [child.tag for case in suite.iter("testcase") for child in case if child.tag != "system-out"]
        for kind, name in [("failure", "failures"), ("error", "errors"), ("skipped", "skipped")]:
            assert int(suite.get(name, "0")) == kinds.count(kind), (kind, suite.attrib)
        for case in suite.iter("testcase"):
            tags = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            found.append((case.attrib["name"], tags[0] if tags else "passed"))
    return found


def sh(
    script: str, folder: Path, environment: dict[str, str], shell: str = "bash -eo pipefail"
) -> subprocess.CompletedProcess:
    """Runs the text of a step as its runner does, with no other variables than those given and PATH."""
    command = [*shell.split(), "-c", script]
    return ran(command, cwd=folder, env=environment)
