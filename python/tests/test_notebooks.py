"""The notebooks run from nothing, and their kept outputs are those of today. `HEAPLAKE_UPDATE=1` keeps new ones."""

from __future__ import annotations

import getpass
import os
import re
import socket
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_what_it_kept(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Figures as data, without a copy of the library that draws them.
    monkeypatch.setenv("PLOTLY_RENDERER", "plotly_mimetype")
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    kept = [_outputs(cell) for cell in notebook.cells]
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    found = [_outputs(cell) for cell in notebook.cells]
    _check_private(str(found), tmp_path)
    if os.environ.get("HEAPLAKE_UPDATE"):
        notebook.metadata["language_info"] = {"name": "python"}
        nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
    else:
        assert found == kept, f"{path.name} is stale: run this test with HEAPLAKE_UPDATE=1"


def test_there_are_three_of_them() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["a_nights_fleet", "compare_releases", "hunt_a_leak"]


def _outputs(cell: Any) -> list[Any]:
    """What a cell shows, as plain values."""
    if cell.cell_type != "code":
        return []
    assert all(output.output_type != "stream" or output.name == "stdout" for output in cell.outputs), cell.outputs
    return [(output.output_type, output.get("data") or output.get("text")) for output in cell.outputs]


def _check_private(said: str, folder: Path) -> None:
    """Outputs tell nothing of the machine that made them."""
    for private in (str(folder), str(Path.home()), socket.gethostname(), "/tmp/", str(Path(__file__).parents[2])):
        assert private not in said, private
    assert not re.search(rf"\b{re.escape(getpass.getuser())}@", said)
