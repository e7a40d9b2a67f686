"""A lake of heap snapshots: frames, SQL, plots, and the binary that makes it."""

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

__all__ = [
    "BinaryNotFound",
    "GateError",
    "HeaplakeError",
    "InputError",
    "Interrupted",
    "ResourceError",
    "UsageError",
    "binary",
]
