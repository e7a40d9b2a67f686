"""The binary is found, and its failures are exceptions with its words."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from lakes import FIXTURES

import heaplake
from heaplake import _binary, samples


def test_a_damaged_input_is_named(tmp_path: Path) -> None:
    (tmp_path / "torn.heapsnapshot").write_text(samples.snapshot()[:50_000])
    with pytest.raises(heaplake.InputError) as raised:
        heaplake.analyze(tmp_path / "torn.heapsnapshot", out=tmp_path / "lake")
    error = raised.value
    assert str(error).startswith(f"{tmp_path}/torn.heapsnapshot: byte 5") and "\n" not in str(error)
    assert error.exit_code == 1 and error.advice is not None and "write or copy the snapshot again" in error.advice
    assert error.command[0] == "analyze"


def test_others_of_a_batch_are_in_the_lake(tmp_path: Path) -> None:
    samples.write(tmp_path / "in/whole.heapsnapshot")
    (tmp_path / "in/torn.heapsnapshot").write_text("{")
    with pytest.raises(heaplake.InputError):
        heaplake.analyze(tmp_path / "in", out=tmp_path / "lake")
    assert [run.metadata["source"] for run in heaplake.open(tmp_path / "lake")] == [f"{tmp_path}/in/whole.heapsnapshot"]


def test_what_cannot_be_used_is_said(tmp_path: Path, shop: heaplake.Lake) -> None:
    with pytest.raises(heaplake.HeaplakeError, match="nowhere"):
        heaplake.open(tmp_path / "nowhere")
    with pytest.raises(heaplake.UsageError) as raised:
        heaplake.analyze(tmp_path, out=tmp_path / "lake", options=["--no-such-option"])
    assert raised.value.exit_code == 2 and "--no-such-option" in raised.value.cause
    run = shop.runs[0]
    with pytest.raises(heaplake.UsageError, match='no class matches "Sesion"; the nearest: "Session"'):
        run.top(classes="Sesion")
    with pytest.raises(heaplake.HeaplakeError, match="999999999"):
        run.why(999_999_999)
    with pytest.raises(heaplake.HeaplakeError, match="2.9"):
        shop.diff("release=2.9", "release=2.4.0")


def test_too_little_memory_is_an_error_of_its_own(tmp_path: Path) -> None:
    snapshot = FIXTURES / "v8/alloc20.heapsnapshot.zst"
    with pytest.raises(heaplake.ResourceError) as raised:
        heaplake.analyze(snapshot, out=tmp_path, options=["--memory=40MiB"])
    assert raised.value.exit_code == 3 and raised.value.advice is not None and "--memory" in raised.value.advice


def test_both_forms_of_an_error_are_understood() -> None:
    text = "heaplake: in/a.hprof: byte 7: expected x, found y\n  -> copy it again\n"
    event = '{"event":"stage"}\n{"event":"failed","kind":"memory","cause":"too little","advice":"more","exit_code":3}\n'
    said = _binary.error(["analyze"], 1, text)
    assert (said.cause, said.advice) == ("in/a.hprof: byte 7: expected x, found y", "copy it again")
    said = _binary.error(["analyze"], 3, event)
    assert isinstance(said, heaplake.ResourceError)
    assert (said.cause, said.advice, said.kind) == ("too little", "more", "memory")
    killed = _binary.error(["analyze"], -signal.SIGKILL, "")
    assert isinstance(killed, heaplake.Interrupted) and "exit code -9" in killed.cause
    assert isinstance(_binary.error(["diff"], 4, ""), heaplake.GateError)


def test_errors_cross_processes() -> None:
    error = _binary.error(["analyze", "x"], 3, "heaplake: too little\n  -> more\n")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is heaplake.ResourceError and vars(again) == vars(error) and str(again) == "too little"


def test_the_variable_counts_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "heaplake"
    other.write_text("#!/bin/sh\necho other\n")
    monkeypatch.setenv("HEAPLAKE_BINARY", str(other))
    with pytest.raises(heaplake.BinaryNotFound, match="HEAPLAKE_BINARY names no program"):
        heaplake.binary()
    other.chmod(0o755)
    assert heaplake.binary() == other and _binary.run([]) == "other\n"


def test_then_the_one_of_the_wheel_then_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEAPLAKE_BINARY")
    for name in ("scripts", "path"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "heaplake").write_text("#!/bin/sh\n")
        (tmp_path / name / "heaplake").chmod(0o755)
    monkeypatch.setattr(sysconfig, "get_path", lambda *_: str(tmp_path / "scripts"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert heaplake.binary() == tmp_path / "scripts/heaplake"
    (tmp_path / "scripts/heaplake").unlink()
    assert heaplake.binary() == tmp_path / "path/heaplake"
    (tmp_path / "path/heaplake").unlink()
    with pytest.raises(heaplake.BinaryNotFound, match="no program heaplake"):
        heaplake.binary()


def test_optional_packages_are_named() -> None:
    """Without any of them the package is there, and says what it lacks."""
    program = """
import sys
sys.modules.update(dict.fromkeys(["polars", "duckdb", "pandas", "plotly", "pyarrow"]))
import heaplake, heaplake.plots
run = heaplake.Run.__new__(heaplake.Run)
lake = heaplake.Lake(".", [])
asks = [("polars", lambda: lake.frame("nodes")), ("duckdb", lake.duckdb), ("plots", lambda: heaplake.plots.growth(lake))]
for extra, ask in asks:
    try:
        ask()
    except ModuleNotFoundError as error:
        assert f"pip install 'heaplake[{extra}]'" in str(error), error
    else:
        raise SystemExit(extra)
"""
    done = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
