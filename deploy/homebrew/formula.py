"""Prints the formula of a release, from its archives' checksums.

python3 deploy/homebrew/formula.py https://github.com/OWNER/NAME FOLDER > heaplake.rb

FOLDER has heaplake-TARGET.tar.gz.sha256 of each target that the formula names.
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
TARGETS = {"X86_64": "x86_64-unknown-linux-gnu", "AARCH64": "aarch64-unknown-linux-gnu"}


def checksum(folder: Path, target: str) -> str:
    file = folder / f"heaplake-{target}.tar.gz.sha256"
    found = re.fullmatch(r"([0-9a-f]{64})  heaplake-" + re.escape(target) + r"\.tar\.gz\n", file.read_text())
    if found is None:
        sys.exit(f"formula.py: {file} is not as sha256sum writes it")
    return found[1]


def main() -> None:
    if len(sys.argv) != 3 or not re.fullmatch(r"https://[A-Za-z0-9./_-]+[A-Za-z0-9_-]", sys.argv[1]):
        sys.exit("usage: formula.py https://github.com/OWNER/NAME FOLDER")
    folder = Path(sys.argv[2])
    version = subprocess.run([sys.executable, HERE.parent / "version.py"], capture_output=True, text=True, check=True)
    values = {"REPOSITORY": sys.argv[1], "VERSION": version.stdout.strip()}
    values |= {f"SHA256_{name}": checksum(folder, target) for name, target in TARGETS.items()}
    template = (HERE / "heaplake.rb.in").read_text().split("\n", 1)[1]
    print(re.sub("@([A-Z0-9_]+)@", lambda word: values[word[1]], template), end="")


if __name__ == "__main__":
    main()
