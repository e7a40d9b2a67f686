"""What makes releases: one version, archives, the formula, and settings of dist, binstall and maturin."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from places import DEPLOY, ROOT, documents, files_of_git, ran

WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())
PIPELINE = tomllib.loads((ROOT / "pipeline/Cargo.toml").read_text())
DIST = tomllib.loads((ROOT / "dist-workspace.toml").read_text())
WHEEL = tomllib.loads((ROOT / "python/pyproject.toml").read_text())
VERSION = WORKSPACE["workspace"]["package"]["version"]


def python(*words: str | Path) -> subprocess.CompletedProcess:
    return ran([sys.executable, *words])


def test_the_version_has_one_place(binary: Path) -> None:
    assert python(DEPLOY / "version.py").stdout == f"{VERSION}\n"
    assert ran([binary, "--version"]).stdout == f"heaplake {VERSION}\n"
    assert WHEEL["project"]["dynamic"] == ["version"] and "version" not in WHEEL["project"]
    members = [
        tomllib.loads((ROOT / name / "Cargo.toml").read_text())["package"] for name in WORKSPACE["workspace"]["members"]
    ]
    assert all(member["version"] == {"workspace": True} for member in members)


def test_examples_name_this_version() -> None:
    """Images, tags and inputs of the examples are raised with the version."""
    texts = [path for path in files_of_git(DEPLOY) if "tests" not in path.parts]
    named = set()
    for path in [*texts, ROOT / "docs/deploy.md"]:
        text = path.read_text()
        named |= set(re.findall(r"(?:heaplake:|@v|ref: v|^\s+version: |heaplake-)(\d+\.\d+\.\d+)", text, re.MULTILINE))
    assert named == {VERSION}


def test_a_release_needs_its_changes_and_a_repository(tmp_path: Path) -> None:
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy/version.py").write_text((DEPLOY / "version.py").read_text())
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n")
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "9.8.7"\n')
    done = python(tmp_path / "deploy/version.py", "--release")
    assert done.returncode == 1 and "no section [9.8.7]" in done.stderr and "no repository" in done.stderr
    (tmp_path / "CHANGELOG.md").write_text("## [9.8.7] - 2026-12-01\n")
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "9.8.7"\nrepository = "https://x"\n')
    assert python(tmp_path / "deploy/version.py", "--release").returncode == 0
    assert python(tmp_path / "deploy/version.py", "--relaese").returncode == 2


@pytest.fixture
def program(binary: Path, tmp_path: Path) -> Path:
    """Runs the binary, and is small: archives of it take no time."""
    path = tmp_path / "a program"
    path.write_text(f'#!/bin/sh\nexec {binary} "$@"\n')
    path.chmod(0o755)
    return path


TARGET = "x86_64-unknown-linux-gnu"


def archive(program: Path, folder: Path, *more: str | Path) -> subprocess.CompletedProcess:
    return ran([DEPLOY / "archive.sh", program, TARGET, folder, *more])


def test_archive(program: Path, tmp_path: Path) -> None:
    sbom = tmp_path / "sbom.json"
    sbom.write_text('{"bomFormat": "CycloneDX"}\n')
    done = archive(program, tmp_path / "a folder", "--sbom", sbom)
    assert done.returncode == 0, done.stderr
    name = f"heaplake-{TARGET}"
    check = ran(["sha256sum", "--check", "--strict", f"{name}.tar.gz.sha256"], cwd=tmp_path / "a folder")
    assert check.returncode == 0
    with tarfile.open(tmp_path / f"a folder/{name}.tar.gz") as packed:
        members = {member.name.removeprefix(f"{name}/"): member for member in packed.getmembers()}
        pages = {
            path: packed.extractfile(member).read().decode()
            for path, member in members.items()
            if path.startswith("man/")
        }
        completion = packed.extractfile(members["completions/heaplake.bash"]).read()
    assert {"heaplake", "heaplake-check", "LICENSE", "README.md", "CHANGELOG.md", "heaplake.cdx.json"} <= set(members)
    assert members["heaplake"].mode == members["heaplake-check"].mode == 0o755
    assert all(member.uid == member.gid == 0 for member in members.values())
    # Every command that the documentation has, has a page.
    page = (ROOT / "docs/cli.md").read_text()
    commands = set(re.findall(r"^\| \[?`heaplake ((?:lake |fleet )?[a-z-]+)", page, re.MULTILINE))
    assert len(commands) > 25
    for command in commands - {"ls"} | {"lake ls"}:
        text = pages[f"man/heaplake-{command.replace(' ', '-')}.1"]
        assert text.startswith((".ie", ".TH")) and "NAME" in text
    assert b"heaplake" in completion
    assert len([path for path in members if path.startswith("completions/")]) == 5
    # The same program makes the same bytes.
    assert archive(program, tmp_path / "again", "--sbom", sbom).returncode == 0
    assert (tmp_path / f"again/{name}.tar.gz").read_bytes() == (tmp_path / f"a folder/{name}.tar.gz").read_bytes()


@pytest.mark.parametrize("how", ["version", "target", "binary", "sbom", "folder"])
def test_archive_refuses(program: Path, tmp_path: Path, how: str) -> None:
    words = {"program": program, "target": TARGET, "folder": tmp_path / "out", "more": []}
    if how == "version":
        program.write_text("#!/bin/sh\necho heaplake 0.0.1\n")
    elif how == "target":
        words["target"] = "x/../y"
    elif how == "binary":
        words["program"] = tmp_path
        words["program"] = tmp_path / "missing"
    elif how == "sbom":
        words["more"] = ["--sbom", tmp_path / "missing.json"]
    else:
        (tmp_path / "out").write_text("a file\n")
    command = [DEPLOY / "archive.sh", words["program"], words["target"], words["folder"], *words["more"]]
    done = ran(command)
    assert done.returncode != 0 and done.stderr
    assert not list(tmp_path.rglob("*.tar.gz"))


def test_formula(tmp_path: Path) -> None:
    for target, digit in [("x86_64", "1"), ("aarch64", "2")]:
        name = f"heaplake-{target}-unknown-linux-gnu.tar.gz"
        (tmp_path / f"{name}.sha256").write_text(f"{digit * 64}  {name}\n")
    done = python(DEPLOY / "homebrew/formula.py", "https://github.com/owner/heaplake", tmp_path)
    assert done.returncode == 0, done.stderr
    assert f'version "{VERSION}"' in done.stdout and "@" not in done.stdout
    urls = re.findall(r'url "(\S+)"\n    sha256 "(\w+)"', done.stdout)
    base = f"https://github.com/owner/heaplake/releases/download/v{VERSION}"
    assert urls == [
        (f"{base}/heaplake-{arch}-unknown-linux-gnu.tar.gz", digit * 64)
        for arch, digit in [("x86_64", "1"), ("aarch64", "2")]
    ]
    words = re.findall(r"^\s*(?:class|on_\w+ do|def|test do|end)\b", done.stdout, re.MULTILINE)
    assert len([word for word in words if word.strip() == "end"]) * 2 == len(words)
    (tmp_path / "heaplake-x86_64-unknown-linux-gnu.tar.gz.sha256").write_text("")
    assert python(DEPLOY / "homebrew/formula.py", "https://github.com/owner/heaplake", tmp_path).returncode != 0
    assert python(DEPLOY / "homebrew/formula.py", 'https://x"; system("id")', tmp_path).returncode != 0


def test_names_of_archives_are_the_same_everywhere() -> None:
    """archive.sh, binstall, dist, install.sh and the formula: an archive has one name, and one folder in it."""
    binstall = PIPELINE["package"]["metadata"]["binstall"]
    assert binstall["pkg-url"] == "{ repo }/releases/download/v{ version }/{ name }-{ target }.tar.gz"
    assert binstall["bin-dir"] == "{ name }-{ target }/{ bin }{ binary-ext }" and binstall["pkg-fmt"] == "tgz"
    assert PIPELINE["package"]["name"] == "heaplake" and DIST["dist"]["unix-archive"] == ".tar.gz"
    assert DIST["dist"]["checksum"] == "sha256"
    install = (DEPLOY / "github/install.sh").read_text()
    assert "archive=heaplake-$target.tar.gz" in install and "/releases/download/v$version" in install
    assert "heaplake-#{" not in (DEPLOY / "homebrew/heaplake.rb.in").read_text()


def test_dist_and_its_jobs_agree() -> None:
    settings = DIST["dist"]
    assert settings["dist"] is False and PIPELINE["package"]["metadata"]["dist"]["dist"] is True
    assert (
        PIPELINE["package"]["metadata"]["dist"]["features"] == WHEEL["tool"]["maturin"]["features"] == ["sql", "stores"]
    )
    assert set(PIPELINE["features"]) == {"sql", "stores"}
    for job in settings["local-artifacts-jobs"]:
        workflow = documents(DEPLOY / f"github/{job.removeprefix('./')}.yml")[0]
        # YAML 1.1 reads the key `on` as true.
        assert workflow[True]["workflow_call"]["inputs"]["plan"]["required"] is True
        names = [
            step["with"]["name"]
            for one in workflow["jobs"].values()
            for step in one["steps"]
            if "upload-artifact" in step.get("uses", "")
        ]
        assert names and all(name.startswith("artifacts-") for name in names)
    matrix = documents(DEPLOY / "github/heaplake-archives.yml")[0]["jobs"]["archive"]["strategy"]["matrix"]["include"]
    assert [one["target"] for one in matrix] == settings["targets"]
    glibc = settings["min-glibc-version"]["*"]
    assert all(f"manylinux_{glibc.replace('.', '_')}_" in one["image"] for one in matrix)


def test_toolchains_are_that_of_the_workspace() -> None:
    wanted = WORKSPACE["workspace"]["package"]["rust-version"]
    for name in ["heaplake-archives.yml", "heaplake-wheels.yml"]:
        text = (DEPLOY / f"github/{name}").read_text()
        assert set(re.findall(r"toolchain:? (\d+\.\d+)\.\d+", text)) == {wanted}


def test_the_wheel_is_as_maturin_reads_it() -> None:
    """The profile is one of the workspace; what it strips is said there."""
    maturin = WHEEL["tool"]["maturin"]
    assert (ROOT / "python" / maturin["manifest-path"]).samefile(ROOT / "pipeline/Cargo.toml")
    assert WORKSPACE["profile"][maturin["profile"]]["strip"] == "debuginfo" and maturin["strip"] is False


def test_what_is_said_of_macos_is_true() -> None:
    """If these calls go, dist-workspace.toml may name macOS."""
    kit = ROOT / "crates/kit/src"
    assert "rustix::fs::syncfs" in (kit / "fs/mod.rs").read_text()
    assert "fadvise" in (kit / "fs/hints.rs").read_text()
    assert "Advice::LinuxHugepage" in (kit / "hint.rs").read_text()
    assert not [target for target in DIST["dist"]["targets"] if "linux-gnu" not in target]
