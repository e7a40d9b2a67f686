"""The units: systemd's own checks, and their commands in namespaces with the folders that systemd would make."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import container
import pytest
from places import DEPLOY, ran

UNITS = DEPLOY / "systemd"
SERVICES = ["heaplake-analyze.service", "heaplake-rollup.service"]


@pytest.fixture(scope="session")
def root(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return container.image(binary, tmp_path_factory.mktemp("machine"))


def settings(name: str) -> dict[str, list[str]]:
    """All values of each key."""
    text = re.sub(r"\\\n\s*", "", (UNITS / name).read_text())
    found: dict[str, list[str]] = {}
    for key, value in re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE):
        found.setdefault(key, []).append(value)
    return found


def commands(name: str) -> list[list[str]]:
    """ExecStart as systemd splits it: a variable is one word."""
    given = settings(name)
    variables = dict(pair.split("=", 1) for pair in given.get("Environment", []))

    def filled(word: str) -> str:
        return re.sub(r"\$\{(\w+)\}", lambda match: variables[match[1]], word)

    return [[filled(word) for word in shlex.split(line)] for line in given["ExecStart"]]


@pytest.fixture
def copied(tmp_path: Path, binary: Path) -> Path:
    """The units with a binary that is there: systemd looks for it."""
    folder = tmp_path / "units"
    shutil.copytree(UNITS, folder)
    for name in SERVICES:
        text = (folder / name).read_text().replace("/usr/bin/heaplake", "/bin/true")
        # Manual pages come with the archive.
        (folder / name).write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE))
    return folder


def verify(folder: Path) -> subprocess.CompletedProcess:
    units = [str(path) for path in sorted(folder.iterdir())]
    return ran(["systemd-analyze", "verify", *units])


def test_verify(copied: Path) -> None:
    done = verify(copied)
    assert done.returncode == 0 and done.stdout + done.stderr == ""
    service = copied / SERVICES[0]
    service.write_text(service.read_text().replace("ProtectSystem=", "ProtectSistem="))
    assert "ProtectSistem" in verify(copied).stderr


@pytest.mark.parametrize("name", SERVICES)
def test_exposure_is_low(copied: Path, name: str) -> None:
    """systemd's own measure, from 0 to 10."""
    done = ran(
        ["systemd-analyze", "security", "--offline=yes", "--threshold=15", "--no-pager", copied / name],
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", SERVICES)
def test_memory_is_the_budget_and_what_the_container_needs(name: str) -> None:
    budget = next(words[words.index("--memory") + 1] for words in commands(name) if "--memory" in words)
    limit = int(settings(name)["MemoryMax"][0].removesuffix("M"))
    assert limit >= int(budget.removesuffix("GiB")) * 1024 + 48


def test_the_rollup_follows_the_analysis_whatever_its_end() -> None:
    rollup = settings(SERVICES[1])
    assert rollup["Wants"] == rollup["After"] == [SERVICES[0]]
    assert settings("heaplake-night.timer")["Unit"] == [SERVICES[1]]
    assert settings(SERVICES[0])["RestartPreventExitStatus"] == ["1 2"]


@pytest.mark.parametrize("damaged", [False, True])
def test_a_night(root: Path, snapshots: Path, tmp_path: Path, damaged: bool) -> None:
    state, cache, tmp = tmp_path / "state", tmp_path / "cache", tmp_path / "tmp"
    for name in settings(SERVICES[0])["StateDirectory"][0].split():
        (tmp_path / name.replace("heaplake", "state", 1)).mkdir()
    cache.mkdir(mode=0o700)
    tmp.mkdir()
    (state / "incoming/2.4.0").mkdir()
    shutil.copy(snapshots / "s1.heapsnapshot.zst", state / "incoming/2.4.0/web 1.heapsnapshot.zst")
    if damaged:
        shutil.copy(snapshots / "damaged.heapsnapshot.zst", state / "incoming/2.4.0")
    # ProtectSystem=strict: all else is read-only.
    mounts = {"/var/lib/heaplake": state, "/var/cache/heaplake": cache, "/tmp": tmp}
    codes = [container.run(root, words, mounts, 999).returncode for name in SERVICES for words in commands(name)]
    assert codes == [1 if damaged else 0, 0, 0, 0]
    assert (state / "lake/fleet/fleet.html").exists()
    for name in ["batch", "fleet"]:
        assert (state / f"metrics/heaplake-{name}.prom").exists()


def test_nothing_arrived(root: Path, tmp_path: Path) -> None:
    (tmp_path / "state/incoming").mkdir(parents=True)
    (tmp_path / "cache").mkdir(mode=0o700)
    mounts = {"/var/lib/heaplake": tmp_path / "state", "/var/cache/heaplake": tmp_path / "cache"}
    done = container.run(root, commands(SERVICES[0])[0], mounts, 999)
    assert done.returncode != 0 and "incoming" in done.stderr
