"""A container without a daemon: the files of an image, a read-only root, a user that is not root, no network.

Bubblewrap makes the namespaces. The root has what the image's last stage copies, and in place of its base image the
libraries that the binary needs, as ldd names them here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from places import DEPLOY, ran

DOCKERFILE = DEPLOY / "docker/Dockerfile"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, with joined lines."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.lstrip().startswith("#")]
    text = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def runtime() -> list[tuple[str, str]]:
    """Those of the last stage."""
    all_of_them = instructions()
    return all_of_them[max(at for at, (name, _) in enumerate(all_of_them) if name == "FROM") :]


def image(binary: Path, root: Path) -> Path:
    """Fills a folder as the last stage does. What its build stage leaves in /out is the given binary and the licence."""
    built = {"/out/usr/bin/heaplake": binary, "/out/usr/share/doc/heaplake/LICENSE": DEPLOY.parent / "LICENSE"}
    for name, rest in runtime():
        if name == "COPY":
            origin, source, target = rest.split()
            assert origin == "--from=build"
            place = root / target.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(built[source], place)
    text = ran(["ldd", binary], check=True).stdout
    for library in re.findall(r"(/\S+) \(0x", text):
        place = root / library.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, place)
    for empty in ["proc", "dev", "tmp", "data"]:
        (root / empty).mkdir(exist_ok=True)
    return root


def run(
    root: Path,
    command: list[str],
    mounts: dict[str, Path],
    user: int,
    network: bool = False,
    **variables: str,
) -> subprocess.CompletedProcess:
    """Runs a command. `mounts` are the writable folders; a path that ends in :ro is not."""
    assert shutil.which("bwrap"), "install bubblewrap"
    words = f"bwrap --unshare-all --unshare-user --uid {user} --gid {user} --cap-drop ALL --new-session".split()
    words += ["--share-net"] if network else []
    words += ["--die-with-parent", "--clearenv", "--ro-bind", str(root), "/", "--proc", "/proc", "--dev", "/dev"]
    for place, folder in mounts.items():
        path, read_only = place.removesuffix(":ro"), place.endswith(":ro")
        # The mount point must be there before the root is read-only.
        (root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        words += ["--ro-bind" if read_only else "--bind", str(folder), path]
    for name, value in variables.items():
        words += ["--setenv", name, value]
    return ran([*words, "--chdir", "/", "--", *command])
