"""What all tests share: the binary, snapshots, lakes made once, and a lake's base.

HEAPLAKE_BINARY is a binary with the features sql and stores. Nothing is skipped for the want of a tool that
requirements.txt or the Makefile names: a test that did not run has not passed.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from places import FIXTURES, ran

# Tools that requirements.txt brings lie beside Python.
os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

# Where class Leaky grew by 25 KiB from s1 to s2, and nothing of it differs between s1 and s1.
GATE = 'class = "Leaky" and retained_bytes.delta > 10 KiB'


@pytest.fixture(scope="session")
def binary() -> Path:
    path = Path(os.environ["HEAPLAKE_BINARY"]).resolve()
    assert ran([path, "sql", "--help"]).returncode == 0, "a binary without SQL"
    return path


@pytest.fixture(scope="session")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with s1, s2 and a damaged one."""
    folder = tmp_path_factory.mktemp("snapshots")
    for name in ["s1", "s2"]:
        packed = FIXTURES / f"v8/{name}.heapsnapshot.zst"
        # The format of compression is known by the name.
        shutil.copy(packed, folder / packed.name)
    whole = (folder / "s1.heapsnapshot.zst").read_bytes()
    (folder / "damaged.heapsnapshot.zst").write_bytes(whole[: len(whole) // 2])
    return folder


@pytest.fixture(scope="session")
def lakes(binary: Path, snapshots: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the lake `base` of s1."""
    folder = tmp_path_factory.mktemp("lakes")
    command = [binary, "analyze", snapshots / "s1.heapsnapshot.zst", "--out", folder / "base", "--release", "base"]
    ran([*command, "--label", "host={stem}", "--quiet"], check=True)
    return folder


@pytest.fixture
def build(tmp_path: Path, snapshots: Path, lakes: Path) -> Path:
    """The working folder of a build: snapshots in it, and the lake of the base branch."""
    folder = tmp_path / 'a build\'s "folder"'
    (folder / "snapshots").mkdir(parents=True)
    shutil.copytree(lakes / "base", folder / "heaplake-base")
    return folder


@pytest.fixture(scope="session")
def tools(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with heaplake and heaplake-check in front."""
    folder = tmp_path_factory.mktemp("tools")
    (folder / "heaplake").symlink_to(binary)
    (folder / "heaplake-check").symlink_to(Path(__file__).parent.parent / "heaplake-check")
    return f"{folder}:{os.environ['PATH']}"
