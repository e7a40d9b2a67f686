"""The DAG in a real Airflow: on a database of its own, with the commands of each task."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import DEPLOY, ran

FOLDER = DEPLOY / "airflow"


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory, tools: str):
    """Runs a command of Airflow."""
    home = tmp_path_factory.mktemp("airflow")
    environment = {
        "PATH": tools,
        "HOME": str(home),
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(FOLDER),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def run(*words: str, timeout: int = 300) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "airflow", *words]
        return ran(command, env=environment, timeout=timeout)

    assert run("db", "migrate").returncode == 0
    done = run("dags", "reserialize")
    assert done.returncode == 0, done.stderr
    return run


def night(tmp_path: Path, snapshots: Path, *names: str) -> dict[str, str]:
    """The parameters of a night with these snapshots."""
    folder = tmp_path / 'a night\'s "data"'
    for name in ["incoming/2.4.0", "scratch", "metrics"]:
        (folder / name).mkdir(parents=True)
    for name in names:
        shutil.copy(
            snapshots / f"{name}.heapsnapshot.zst", folder / "incoming/2.4.0" / f"-web '{name}'.heapsnapshot.zst"
        )
    return {name: str(folder / name) for name in ["incoming", "lake", "scratch", "metrics"]}


def test_it_is_a_dag_without_errors(airflow) -> None:
    assert "No data found" in airflow("dags", "list-import-errors").stdout
    assert "heaplake_night" in airflow("dags", "list", "--output", "json").stdout


@pytest.mark.parametrize("damaged", [False, True])
def test_a_night(airflow, tmp_path: Path, snapshots: Path, damaged: bool) -> None:
    given = night(tmp_path, snapshots, "s1", *(["damaged"] if damaged else []))
    done = airflow("dags", "test", "heaplake_night", "--conf", json.dumps(given))
    log = done.stdout + done.stderr
    # A damaged input fails the run without a second try; the rollup has the others.
    assert log.count("running ['heaplake', 'analyze'") == 1, log
    assert (
        log.count("running ['heaplake', 'fleet', 'rollup'") == 1
        and log.count("running ['heaplake', 'lake', 'drop'") == 1
    )
    assert bool(re.search(r"Marking run .* failed", log)) == damaged, log
    assert Path(given["lake"], "fleet/rollup.json").exists()
    assert len(list(Path(given["lake"]).glob("release=2.4.0/snapshot=*"))) == 1
    assert {path.name for path in Path(given["metrics"]).iterdir()} == {"heaplake-batch.prom", "heaplake-fleet.prom"}


@pytest.mark.parametrize(
    ("code", "error"),
    [(0, ""), (1, "AirflowFailException"), (2, "AirflowFailException"), (3, "RuntimeError"), (137, "RuntimeError")],
)
def test_only_what_another_try_can_repair_is_tried_again(airflow, tmp_path: Path, code: int, error: str) -> None:
    """The function of all tasks, with a program that ends as given."""
    program = tmp_path / "heaplake"
    program.write_text(f"#!/bin/sh\nprintf '%s|' \"$@\"\nexit {code}\n")
    program.chmod(0o755)
    script = "import heaplake_night as night; night.heaplake('x', 'a b', '$(id)')"
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(FOLDER), "AIRFLOW_HOME": str(tmp_path)}
    done = ran([sys.executable, "-c", script], env=environment)
    assert "x|a b|$(id)|" in done.stdout
    assert (done.returncode == 0) == (code == 0) and error in done.stderr
