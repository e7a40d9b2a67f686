"""Files that users name for output, as the binary writes them.

A regular file is replaced in one step and keeps its mode, a symbolic link is followed and stays. A device, a pipe or an
open file is written to where it is: a rename would put a file in its place.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

__all__ = ["write"]


def write(path: Path, content: Callable[[BinaryIO], None]) -> None:
    """Writes a file with what `content` puts into it."""
    there = _mode(path)
    target = path.resolve()
    with tempfile.TemporaryFile() as whole:
        content(whole)
        whole.seek(0)
        if (there is not None and not stat.S_ISREG(there)) or target.is_relative_to("/proc"):
            with path.open("ab") as file:
                shutil.copyfileobj(whole, file)
            return
        with tempfile.TemporaryDirectory(prefix=".heaplake-manifest-", dir=target.parent) as beside:
            new = Path(beside, "output")
            with new.open("xb") as file:
                shutil.copyfileobj(whole, file)
                file.flush()
                os.fsync(file.fileno())
            if there is not None:
                new.chmod(stat.S_IMODE(there) & 0o777)
            new.replace(target)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None
