"""A lake of heap snapshots in notebooks: frames, SQL, plots, and the binary that makes it.

>>> import heaplake
>>> lake = heaplake.open("lake")
>>> lake.tables.classes.sort("retained_bytes", descending=True).head(5).collect()
>>> lake.runs[0].findings()

`open` is the beginning. Frames need polars, `Lake.duckdb` DuckDB, plots plotly: `pip install 'heaplake[notebooks]'` has
all of them. Sizes are bytes; null means that an input does not tell, never zero. Failures of the binary are
`HeaplakeError`.
"""

from heaplake._binary import (
    BinaryNotFound,
    GateError,
    HeaplakeError,
    InputError,
    Interrupted,
    ResourceError,
    UsageError,
    binary,
)
from heaplake.batch import analyze, replay
from heaplake.comparison import Diff, Rollup, Trend, wide
from heaplake.gates import FoundRow, Gate
from heaplake.lake import Lake, open
from heaplake.run import DamagedRun, Run

__all__ = [
    "BinaryNotFound",
    "DamagedRun",
    "Diff",
    "FoundRow",
    "Gate",
    "GateError",
    "HeaplakeError",
    "InputError",
    "Interrupted",
    "Lake",
    "ResourceError",
    "Rollup",
    "Run",
    "Trend",
    "UsageError",
    "analyze",
    "binary",
    "open",
    "replay",
    "wide",
]
