"""The package is typed, strictly, and says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1]

USE = """
import polars as pl
import heaplake
from heaplake import plots, samples

lake = heaplake.open(samples.write("x"))
run: heaplake.Run = lake.runs[0]
frame: pl.LazyFrame = lake.tables.classes
rows: pl.DataFrame = run.why("@1", paths=2)
change: pl.LazyFrame = lake.diff(run, "release=1").tables["classes"]
seconds: int = lake.sql("SELECT 1")  # wrong on purpose
"""


def test_strictly() -> None:
    done = _mypy([], PACKAGE)
    assert done.returncode == 0, done.stdout


def test_others_see_the_types(tmp_path: Path) -> None:
    assert (PACKAGE / "heaplake/py.typed").is_file()
    (tmp_path / "use.py").write_text(USE)
    done = _mypy(["--strict", "--config-file=", "use.py"], tmp_path)
    errors = [line for line in done.stdout.splitlines() if line.startswith("use.py")]
    assert len(errors) == 1 and "use.py:11" in errors[0] and '"DataFrame", variable has type "int"' in errors[0], (
        done.stdout
    )


def _mypy(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"MYPYPATH": str(PACKAGE), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "mypy", "--no-incremental", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
