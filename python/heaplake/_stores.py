"""Object stores for readers that know none: DuckDB reads them through pyarrow, with nothing to download."""

from __future__ import annotations

import os
from typing import Any

from heaplake._binary import UsageError
from heaplake._optional import needed
from heaplake._places import Url


def filesystem(lake: Url) -> Any:
    """The file system of a lake, for DuckDB. The environment says where it is and who asks, as for the binary."""
    if lake.scheme != "s3":
        raise UsageError(
            f"{lake}: DuckDB reads lakes in s3:// only",
            advice="use frames, or ask in SQL with heaplake sql",
            exit_code=2,
        )
    needed("pyarrow", "duckdb")
    arrow = needed("fsspec.implementations.arrow", "duckdb")
    # DuckDB knows by the protocol which names are meant. In the wrapper a name ends at a question mark, as in other URLs.
    own = {"protocol": "s3", "_strip_protocol": classmethod(lambda _, name: name.removeprefix("s3://"))}
    return type("S3", (arrow.ArrowFSWrapper,), own)(_s3())


def _s3() -> Any:
    fs = needed("pyarrow.fs", "duckdb")
    options: dict[str, str] = {}
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region:
        options["region"] = region
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        scheme, _, server = endpoint.rpartition("://")
        options |= {"endpoint_override": server.rstrip("/"), "scheme": scheme or "https"}
    return fs.S3FileSystem(**options)
