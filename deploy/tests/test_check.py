"""heaplake-check: what a build sees in each case, and what hostile names can do."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import GATE
from places import DEPLOY, cases, ran, result_of

CHECK = DEPLOY / "heaplake-check"


@pytest.fixture
def check(build: Path, tools: str):
    def run(**variables: str) -> subprocess.CompletedProcess:
        given = {"SNAPSHOTS": "snapshots/*.heapsnapshot*", "RELEASE": "abc123", "FAIL_IF": GATE} | variables
        environment = {f"HEAPLAKE_{name}": value for name, value in given.items()} | {"PATH": tools}
        return ran([CHECK], cwd=build, env=environment)

    return run


def add(build: Path, snapshots: Path, name: str, to: str | None = None) -> None:
    shutil.copy(snapshots / f"{name}.heapsnapshot.zst", build / "snapshots" / (to or f"{name}.heapsnapshot.zst"))


def comment(build: Path) -> str:
    return (build / "heaplake-report/comment.md").read_text()


def test_without_a_regression_it_passes(check, build: Path, snapshots: Path) -> None:
    add(build, snapshots, "s1")
    done = check()
    assert done.returncode == 0, done.stdout + done.stderr
    assert result_of(build) == {"exit-code": "0", "compared": "true", "passed": "true"}
    assert cases(build / "heaplake-report/junit.xml") == [(GATE, "passed")]
    assert "1 of 1 gates pass" in comment(build)
    assert "<html" in (build / "heaplake-report/diff.html").read_text()


def test_a_regression_fails_and_is_reported(check, build: Path, snapshots: Path) -> None:
    add(build, snapshots, "s2")
    done = check()
    assert done.returncode == 4, done.stdout + done.stderr
    assert result_of(build) == {"exit-code": "4", "compared": "true", "passed": "false"}
    assert cases(build / "heaplake-report/junit.xml") == [(GATE, "failure")]
    assert "0 of 1 gates pass" in comment(build) and "Leaky" in comment(build)


def test_a_damaged_input_fails_and_the_others_are_compared(check, build: Path, snapshots: Path) -> None:
    add(build, snapshots, "s1")
    hostile = 'bad `touch hacked` $(touch hacked) "q" </pre> ```.heapsnapshot.zst'.replace("/", "∕")
    add(build, snapshots, "damaged", hostile)
    done = check()
    assert done.returncode == 1, done.stdout + done.stderr
    assert result_of(build) == {"exit-code": "1", "compared": "true", "passed": "false"}
    # Though each gate passes, the tests are not all green.
    assert [outcome for _, outcome in cases(build / "heaplake-report/junit.xml")] == ["passed", "error"]
    text = comment(build)
    assert text.splitlines()[1].startswith("**Not passed: an input or a run failed")
    # Names stand in an indented block, which no text in them ends.
    assert all(line.startswith("    ") for line in text.splitlines() if "touch hacked" in line)
    assert not list(build.rglob("hacked"))


def test_a_long_comment_is_cut_between_lines(build: Path, tmp_path: Path) -> None:
    """A host refuses a comment of more than 65,536 characters, and then nobody sees any of it."""
    program = tmp_path / "heaplake"
    line = "ä" * 5000
    program.write_text(f"#!/bin/sh\nfor one in $(seq 40); do echo '{line}'; done\nexit 1\n")
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    given = {"PATH": path, "HEAPLAKE_SNAPSHOTS": "x", "HEAPLAKE_RELEASE": "x", "HEAPLAKE_FAIL_IF": "x"}
    assert ran([CHECK], cwd=build, env=given).returncode == 1
    text = comment(build)
    assert 20000 < len(text) < 65536 and text.endswith("(cut here; the reports have all)\n")
    assert {len(one) for one in text.splitlines() if "ä" in one} == {5004}


def test_a_regression_counts_more_than_a_damaged_input(check, build: Path, snapshots: Path) -> None:
    add(build, snapshots, "s2")
    add(build, snapshots, "damaged")
    assert check().returncode == 4
    outcomes = [outcome for _, outcome in cases(build / "heaplake-report/junit.xml")]
    assert outcomes == ["failure", "error"]


@pytest.mark.parametrize("base", ["missing", "empty"])
def test_a_first_run_is_no_pass_of_gates(check, build: Path, snapshots: Path, base: str) -> None:
    shutil.rmtree(build / "heaplake-base")
    if base == "empty":
        (build / "heaplake-base").mkdir()
    add(build, snapshots, "s2")
    done = check()
    assert done.returncode == 0 and "nothing was compared" in done.stderr
    assert result_of(build) == {"exit-code": "0", "compared": "false", "passed": "false"}
    assert cases(build / "heaplake-report/junit.xml") == [("heaplake-check", "skipped")]
    assert (build / "heaplake-lake/release=abc123").is_dir()
    assert "no gate was checked" in comment(build)


def test_a_base_may_be_required(check, build: Path, snapshots: Path) -> None:
    shutil.rmtree(build / "heaplake-base")
    add(build, snapshots, "s1")
    assert check(REQUIRE_BASE="true").returncode == 2
    assert cases(build / "heaplake-report/junit.xml") == [("heaplake-check", "error")]


def test_a_base_that_is_no_lake_is_an_error(check, build: Path, snapshots: Path) -> None:
    add(build, snapshots, "s1")
    shutil.rmtree(build / "heaplake-base")
    (build / "heaplake-base").mkdir()
    (build / "heaplake-base/note.txt").write_text("no run\n")
    assert check().returncode == 2
    assert result_of(build)["compared"] == "false"
    assert [outcome for _, outcome in cases(build / "heaplake-report/junit.xml")] == ["error"]
    assert "no run in this folder" in comment(build)


@pytest.mark.parametrize("pattern", ["snapshots/*.nothing", "snapshots", "missing.heapsnapshot"])
def test_no_snapshot_is_a_failure(check, build: Path, pattern: str) -> None:
    """A folder without snapshots, a pattern that matches nothing, a file that is not there."""
    done = check(SNAPSHOTS=pattern)
    assert done.returncode == 1, done.stdout + done.stderr
    assert result_of(build) == {"exit-code": "1", "compared": "false", "passed": "false"}
    assert cases(build / "heaplake-report/junit.xml") == [("heaplake-check", "error")]
    assert pattern in comment(build)


def test_one_pattern_without_a_match_fails_among_others(check, build: Path, snapshots: Path) -> None:
    add(build, snapshots, "s1")
    done = check(SNAPSHOTS="snapshots/*.heapsnapshot.zst\nsnapshots/*.hprof")
    assert done.returncode == 1 and result_of(build)["passed"] == "false"


def test_names_with_blanks_quotes_and_dashes(check, build: Path, snapshots: Path) -> None:
    names = ["-a b 'c' \"d\" $HOME;`id`.heapsnapshot.zst", "new\nline.heapsnapshot.zst", "[x]*.heapsnapshot.zst"]
    for name in names:
        add(build, snapshots, "s1", name)
    done = check(SNAPSHOTS="snapshots/")
    assert done.returncode == 0, done.stdout + done.stderr
    runs = list((build / "heaplake-lake/release=abc123").iterdir())
    assert len(runs) == 3
    # A name that begins with a dash, as it is.
    os.rename(build / "snapshots" / names[0], build / names[0])
    assert check(SNAPSHOTS=names[0]).returncode == 0


def test_labels_and_options_are_words(check, build: Path, snapshots: Path) -> None:
    add(build, snapshots, "s1")
    done = check(LABELS="host={stem}\nteam=a b $(id) 'c'", OPTIONS="--tables\nclasses,chains,findings", MEMORY="300MiB")
    assert done.returncode == 0, done.stdout + done.stderr
    run = next((build / "heaplake-lake/release=abc123").iterdir())
    assert (run / "classes.parquet").exists() and not (run / "nodes.parquet").exists()
    assert "a b $(id) 'c'" in (run / "run.json").read_text()


@pytest.mark.parametrize(
    ("variables", "cause"),
    [
        ({"SNAPSHOTS": " \n "}, "names no snapshot"),
        ({"RELEASE": ""}, "RELEASE is empty"),
        ({"RELEASE": "../x"}, "letters, digits"),
        ({"RELEASE": "a b"}, "letters, digits"),
        ({"RELEASE": "x\n--force"}, "letters, digits"),
        ({"FAIL_IF": ""}, "there is no gate"),
        ({"BASE": "--force"}, "begins with a dash"),
        ({"REPORT": "-x"}, "begins with a dash"),
        ({"LAKE": "a\nb"}, "one line"),
        ({"REQUIRE_BASE": "yes"}, "true or false"),
        ({"": "x"}, ""),
    ],
)
def test_unusable_input_is_refused_before_the_work(check, build: Path, snapshots: Path, variables, cause: str) -> None:
    add(build, snapshots, "s1")
    if not cause:
        environment = {"HEAPLAKE": "no-such-binary"}
        given = {
            "HEAPLAKE_SNAPSHOTS": "x",
            "HEAPLAKE_RELEASE": "x",
            "HEAPLAKE_FAIL_IF": "x",
            "PATH": os.environ["PATH"],
        }
        done = ran([CHECK], cwd=build, env=given | environment)
        cause = "there is no no-such-binary"
    else:
        done = check(**variables)
    assert done.returncode == 2 and cause in done.stderr
    assert not (build / "heaplake-lake").exists() and not (build / "heaplake-report").exists()


def test_a_gate_with_an_error_is_one(check, build: Path, snapshots: Path) -> None:
    add(build, snapshots, "s1")
    assert check(FAIL_IF="retained_byte.delta > 5").returncode == 2
    assert "did you mean retained_bytes" in comment(build)
    assert cases(build / "heaplake-report/junit.xml") == [("heaplake-check", "error")]


@pytest.mark.parametrize(("code", "heading"), [(3, "memory or disk"), (130, "ended with 130"), (137, "ended with 137")])
def test_codes_of_the_machine_are_passed_on(check, build: Path, tmp_path: Path, code: int, heading: str) -> None:
    """A budget that is too small, an interruption, and the kernel's killer: nothing is compared."""
    program = tmp_path / "heaplake"
    program.write_text(f"#!/bin/sh\necho '<b>& done'\nexit {code}\n")
    program.chmod(0o755)
    done = subprocess.run(
        [CHECK],
        cwd=build,
        env={
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "HEAPLAKE_SNAPSHOTS": "x",
            "HEAPLAKE_RELEASE": "x",
            "HEAPLAKE_FAIL_IF": "x",
        },
        check=False,
    )
    assert done.returncode == code
    assert result_of(build) == {"exit-code": str(code), "compared": "false", "passed": "false"}
    assert cases(build / "heaplake-report/junit.xml") == [("heaplake-check", "error")]
    assert heading in comment(build) and "    <b>& done" in comment(build)


def test_reports_of_an_earlier_run_are_not_taken_for_new_ones(check, build: Path, snapshots: Path) -> None:
    add(build, snapshots, "s1")
    assert check().returncode == 0
    (build / "heaplake-report/mine.txt").write_text("stays\n")
    assert check(RELEASE="def", SNAPSHOTS="snapshots/*.none").returncode == 1
    assert result_of(build)["passed"] == "false" and "gates pass" not in comment(build)
    assert (build / "heaplake-report/mine.txt").exists()


def as_nobody(check_path: Path, build: Path, environment: dict[str, str]) -> subprocess.CompletedProcess:
    """As a user that owns nothing here."""
    demote = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    return ran([check_path], cwd=build, env=environment, **demote)


@pytest.mark.parametrize("which", ["report", "lake", "base"])
def test_without_permission_it_fails(build: Path, snapshots: Path, tools: str, tmp_path: Path, which: str) -> None:
    add(build, snapshots, "s1")
    environment = {"PATH": tools, "HEAPLAKE_SNAPSHOTS": "snapshots", "HEAPLAKE_RELEASE": "x", "HEAPLAKE_FAIL_IF": GATE}
    opened(tmp_path)
    opened(Path(tools.split(":")[0]))
    opened((Path(tools.split(":")[0]) / "heaplake").resolve().parent)
    if which != "report":
        (build / "heaplake-report").mkdir()
        (build / "heaplake-report").chmod(0o777)
    if which == "base":
        (build / "heaplake-lake").mkdir()
        (build / "heaplake-lake").chmod(0o777)
        (build / "heaplake-base").chmod(0o000)
    else:
        build.chmod(0o555)
    done = as_nobody(CHECK, build, environment)
    (build / "heaplake-base").chmod(0o755)
    build.chmod(0o755)
    assert done.returncode in (1, 2), done.stdout + done.stderr
    assert "ermission denied" in done.stdout + done.stderr
    if which != "report":
        assert result_of(build)["passed"] == "false"
        assert [outcome for _, outcome in cases(build / "heaplake-report/junit.xml")] == ["error"]


def opened(folder: Path) -> None:
    """Lets other users into a folder and those above, as far as this user may."""
    for path in [folder, *folder.parents]:
        if path.stat().st_uid == os.geteuid() and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o005)
