"""The version, from its one place: [workspace.package] of Cargo.toml.

python3 deploy/version.py             prints it
python3 deploy/version.py --release   checks that it can be released: CHANGELOG.md has its section, and Cargo.toml the
                                      repository, which binstall, dist and the formula need
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def package() -> dict[str, object]:
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]


def missing() -> list[str]:
    """What a release lacks."""
    found = []
    if f"## [{package()['version']}]" not in (ROOT / "CHANGELOG.md").read_text():
        found.append(f"CHANGELOG.md has no section [{package()['version']}]")
    if "repository" not in package():
        found.append("Cargo.toml: [workspace.package] has no repository")
    return found


def main() -> int:
    if sys.argv[1:] not in ([], ["--release"]):
        print("usage: version.py [--release]", file=sys.stderr)
        return 2
    for line in (lines := missing() if sys.argv[1:] else []):
        print(f"version.py: {line}", file=sys.stderr)
    print(package()["version"])
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
