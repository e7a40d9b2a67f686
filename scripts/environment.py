"""Makes a virtual environment with the packages of a requirements file, whole or not at all.

python3 scripts/environment.py FOLDER REQUIREMENTS

One process at a time makes it. A list of its files and their lengths is written when all is there. Where the list is
missing, as after an interruption, where a file of it is missing or shorter, and where Python or the requirements are
others, the folder is removed and made anew. Needs nothing but Python.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

LIST = "installed.json"


def files(folder: Path) -> dict[str, int]:
    """All files below a folder and their lengths. What Python compiles by the way does not count."""
    lengths = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            path = Path(place, name)
            lengths[str(path.relative_to(folder))] = path.lstat().st_size
    return lengths


def is_whole(folder: Path, key: str) -> bool:
    try:
        installed = json.loads((folder / LIST).read_text())
        return installed["key"] == key and all(
            (folder / name).lstat().st_size == length for name, length in installed["files"].items()
        )
    except (OSError, ValueError, KeyError):
        return False


def main() -> None:
    folder, requirements = Path(sys.argv[1]).absolute(), Path(sys.argv[2])
    made_of = [sys.version, sys.base_prefix, str(folder), requirements.read_text()]
    key = hashlib.sha256("\0".join(made_of).encode()).hexdigest()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(folder.name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_whole(folder, key):
            return
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True, symlinks=True)
        pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--requirement", requirements]
        if status := subprocess.run(pip).returncode:
            sys.exit(status)
        (folder / LIST).write_text(json.dumps({"key": key, "files": files(folder)}))


main()
