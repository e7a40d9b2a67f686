"""Files that users name for output."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from pathlib import Path
from typing import BinaryIO

from heaplake.cluster import _outputs


def text(to: BinaryIO) -> None:
    to.write(b"new")


def test_files_keep_their_mode_and_links_stay(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("before")
    (tmp_path / "file").chmod(0o604)
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("elsewhere")
    for name in ["link", "dangling"]:
        _outputs.write(tmp_path / name, text)
        assert (tmp_path / name).is_symlink() and (tmp_path / name).read_text() == "new"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o604
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "elsewhere", "file", "link"]


def test_pipes_and_devices_are_written_through(tmp_path: Path) -> None:
    pipe, null = tmp_path / "pipe", tmp_path / "null"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    _outputs.write(pipe, text)
    reader.join()
    assert read == [b"new"] and pipe.is_fifo()
    made = subprocess.run(["mknod", "-m", "666", null, "c", "1", "3"], capture_output=True, check=False)
    if made.returncode == 0 and os.access(null, os.W_OK):
        _outputs.write(null, text)
        assert null.is_char_device()
