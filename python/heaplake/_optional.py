"""Packages that only parts of this one need."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, extra: str) -> Any:
    """A module, or an error that says how to install it.

    Raises `ModuleNotFoundError` with the command where it is not there.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise
        package = module.split(".")[0]
        raise ModuleNotFoundError(
            f"this needs {package}: pip install 'heaplake[{extra}]'", name=error.name, path=error.path
        ) from None
