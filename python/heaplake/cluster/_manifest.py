"""The manifest of a batch: a row for each input."""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from heaplake._binary import UsageError
from heaplake.cluster import _outputs

__all__ = ["COLUMNS", "Manifest", "line_of"]

Row = Mapping[str, Any]

# Columns with their types in Parquet.
COLUMNS = {
    "input": "string",
    "status": "string",
    "run": "string",
    "seconds": "double",
    "peak_memory_bytes": "int64",
    "memory_bytes": "int64",
    "scratch_bytes": "int64",
    "cores": "int64",
    "attempts": "int64",
    "node": "string",
    "kind": "string",
    "error": "string",
    "advice": "string",
    "exit_code": "int64",
}

_WORDS = {
    "damaged": "damaged",
    "memory": "too large for the memory budget",
    "disk": "too large for the disk",
    "threads": "without threads",
    "file": "unreadable or unwritable",
    "stored": "with damaged tables or scratch",
    "refused": "refused",
    "interrupted": "interrupted",
    "killed": "killed",
    "lost": "lost with its node",
    "held": "held by another process",
    "timeout": "over the time limit",
    "infeasible": "too large for every node",
}


class Manifest:
    """The rows so far, and the file that they go to.

    JSON lines are written as inputs end. A file that ends in `.parquet` is written in one step when all have ended, in the
    order of the inputs.
    """

    def __init__(self, path: str | None) -> None:
        self.rows: dict[int, Row] = {}
        self._path = None if path is None else Path(path)
        self._lines: TextIO | None = None
        if self._path is None:
            return
        try:
            if self._path.suffix == ".parquet":
                import pyarrow.parquet  # noqa: F401

                if self._path.is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            else:
                self._lines = self._path.open("w", encoding="utf-8")
        except ImportError:
            raise UsageError(
                f"{path}: a manifest in Parquet needs pyarrow",
                advice="pip install pyarrow, or name a file that ends in .jsonl",
                exit_code=2,
            ) from None
        except OSError as problem:
            raise UsageError(f"{path}: cannot write: {problem.strerror}", advice="name a file in a folder", exit_code=2)

    def add(self, number: int, row: Row) -> None:
        """Takes the row of the input with this number."""
        self.rows[number] = {column: row.get(column) for column in COLUMNS}
        if self._lines is not None:
            self._lines.write(json.dumps(self.rows[number], ensure_ascii=False) + "\n")
            self._lines.flush()

    def in_order(self) -> list[Row]:
        """All rows, in the order of the inputs."""
        return [self.rows[number] for number in sorted(self.rows)]

    def finish(self) -> None:
        """Writes what is written last."""
        if self._lines is not None:
            self._lines.close()
        elif self._path is not None:
            _write_parquet(self._path, self.in_order())

    @property
    def exit_code(self) -> int:
        """The highest of all inputs."""
        return max((row["exit_code"] for row in self.rows.values()), default=0)


def _write_parquet(path: Path, rows: Sequence[Row]) -> None:
    import pyarrow
    import pyarrow.parquet

    types = {"string": pyarrow.string(), "double": pyarrow.float64(), "int64": pyarrow.int64()}
    schema = pyarrow.schema([(column, types[kind]) for column, kind in COLUMNS.items()])

    def content(to: BinaryIO) -> None:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema=schema), to)

    _outputs.write(path, content)


def line_of(rows: Sequence[Row], not_started: int = 0) -> str:
    """What became of all inputs, in one line.

    >>> line_of([{"status": "committed"}, {"status": "failed", "kind": "damaged"}])
    '2 inputs: 1 new, 1 failed (1 damaged)'
    """
    status = Counter(row["status"] for row in rows)
    kinds = Counter(row["kind"] for row in rows if row["status"] == "failed")
    parts = [f"{status['committed']} new"] if status["committed"] else []
    if status["unchanged"]:
        parts.append(f"{status['unchanged']} in the lake before")
    if status["failed"]:
        why = ", ".join(f"{count} {_WORDS.get(kind, kind)}" for kind, count in sorted(kinds.items()))
        parts.append(f"{status['failed']} failed ({why})")
    if not_started:
        parts.append(f"{not_started} not started")
    inputs = len(rows) + not_started
    return f"{inputs} input{'' if inputs == 1 else 's'}: {', '.join(parts) or 'nothing done'}"
