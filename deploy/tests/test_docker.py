"""The image, built by hand: its files, and the binary in them with a read-only root."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import container
import pytest
from places import DEPLOY, ROOT, ran


@pytest.fixture(scope="session")
def root(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return container.image(binary, tmp_path_factory.mktemp("image"))


def test_lint() -> None:
    done = ran(["hadolint", container.DOCKERFILE])
    assert done.returncode == 0, done.stdout


def test_the_image_runs_as_nobody_without_a_shell() -> None:
    last = dict(container.runtime())
    assert last["USER"] == "65532:65532" and last["ENTRYPOINT"] == '["/usr/bin/heaplake"]'
    assert "distroless" in last["FROM"] and "RUN" not in last
    toolchain = re.search(r"rust:([\d.]+)-", dict(container.instructions()[:1])["FROM"])[1]
    assert toolchain == tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]


def test_version(root: Path) -> None:
    done = container.run(root, ["/usr/bin/heaplake", "--version"], {}, 65532)
    assert done.returncode == 0 and done.stdout.startswith("heaplake "), done.stderr


def test_analysis_with_a_read_only_root(root: Path, snapshots: Path, tmp_path: Path) -> None:
    lake, scratch = tmp_path / "lake", tmp_path / "scratch"
    lake.mkdir()
    scratch.mkdir(mode=0o700)
    mounts = {"/data/incoming:ro": snapshots, "/data/lake": lake, "/scratch": scratch}
    files = sorted(path for path in root.rglob("*"))
    command = ["/usr/bin/heaplake", "analyze", "/data/incoming/s1.heapsnapshot.zst", "--out", "/data/lake"]
    done = container.run(root, [*command, "--scratch", "/scratch", "--report", "--resume", "always"], mounts, 65532)
    assert done.returncode == 0, done.stderr
    assert list(lake.glob("release=none/snapshot=*/report.html"))
    points = {root / "data/incoming", root / "data/lake", root / "scratch"}
    assert sorted(path for path in root.rglob("*")) == sorted({*files, *points})
    # What the Dockerfile says of temporary files.
    sql = ["/usr/bin/heaplake", "sql", "SELECT count(*) FROM classes", "--lake", "/data/lake"]
    rollup = ["/usr/bin/heaplake", "fleet", "rollup", "/data/lake"]
    for reader in [sql, rollup]:
        assert container.run(root, [*reader, "--scratch", "/scratch"], mounts, 65532).returncode == 0
        assert container.run(root, reader, mounts, 65532, TMPDIR="/scratch").returncode == 0
        done = container.run(root, reader, mounts, 65532)
        assert done.returncode == 2 and "/tmp: cannot create a folder in: Read-only" in done.stderr
    # The lake is the only folder that it needs: scratch is inside by default.
    shutil.rmtree(lake)
    lake.mkdir()
    done = container.run(root, command, {"/data/incoming:ro": snapshots, "/data/lake": lake}, 65532)
    assert done.returncode == 0, done.stderr


def test_a_lake_that_is_not_mounted_is_refused(root: Path, snapshots: Path) -> None:
    command = ["/usr/bin/heaplake", "analyze", "/data/incoming/s1.heapsnapshot.zst", "--out", "/elsewhere"]
    done = container.run(root, command, {"/data/incoming:ro": snapshots}, 65532)
    assert done.returncode in (1, 2) and "Read-only file system" in done.stderr


def test_the_context_has_all_that_a_build_reads(tmp_path: Path) -> None:
    """Cargo finds each manifest and target, and each file that sources include is there."""
    rules = [
        line
        for line in container.DOCKERFILE.with_name("Dockerfile.dockerignore").read_text().splitlines()
        if line[:1] not in ("#", "")
    ]
    assert rules[0] == "*"
    tracked = ran(["git", "-C", ROOT, "ls-files", "-z"], check=True).stdout
    for name in tracked.split("\0")[:-1]:
        if is_sent(name, rules) and (ROOT / name).exists():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    command = ["cargo", "metadata", "--offline", "--locked", "--no-deps", "--format-version", "1"]
    done = ran(command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for source in tmp_path.rglob("src/**/*.rs"):
        for given in re.findall(r'include_(?:str|bytes)!\((?:concat!\()?"([^"]+)"', source.read_text()):
            place = source.parent / given
            assert place.exists() or not (ROOT / source.relative_to(tmp_path).parent / given).exists(), (source, given)
    assert not (tmp_path / "tests/fixtures").exists()


def is_sent(name: str, rules: list[str]) -> bool:
    """The last rule that matches a file, or a folder above it, decides."""
    sent = True
    parts = name.split("/")
    above = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
    for rule in rules:
        pattern = re.compile(re.escape(rule.lstrip("!")).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*") + "$")
        if any(pattern.match(path) for path in above):
            sent = rule.startswith("!")
    return sent


def test_the_words_of_the_head_are_those_of_the_file() -> None:
    """The comment names the command to build; the archive has the same features."""
    build = next(rest for name, rest in container.instructions() if name == "RUN")
    assert "--locked" in build and "--features heaplake/sql,heaplake/stores" in build
    assert "--features heaplake/sql,heaplake/stores" in (DEPLOY / "github/heaplake-archives.yml").read_text()
