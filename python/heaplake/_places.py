"""Where lakes and runs are: folders, and prefixes of object stores."""

from __future__ import annotations

import os
import re
from pathlib import Path

#: What the binary takes for a URL (docs/stores.md).
_URL = re.compile(r"(s3|gs|az)://")


class Url(str):
    """A prefix or an object of a store, with what a lake asks of paths.

    >>> Url("s3://heap-lake/prod") / "run.json"
    's3://heap-lake/prod/run.json'
    """

    def __truediv__(self, part: str) -> Url:
        return Url(f"{self}/{part}")

    @property
    def scheme(self) -> str:
        """Which store it is in.

        >>> Url("s3://heap-lake/prod").scheme
        's3'
        """
        return self.split(":")[0]

    @property
    def name(self) -> str:
        """Its last part.

        >>> Url("s3://heap-lake/prod").name
        'prod'
        """
        return self.rpartition("/")[2]

    def resolve(self) -> Url:
        """It is absolute."""
        return self


Place = Path | Url


def place(named: str | os.PathLike[str]) -> Place:
    """A folder, or a prefix of a store where it is named by a URL."""
    text = os.fspath(named)
    return Url(text.rstrip("/")) if _URL.match(text) else Path(text)
