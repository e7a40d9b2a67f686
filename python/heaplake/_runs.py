"""What `run.json` says, as far as views need it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Protocol

from heaplake._places import Place

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

#: File name inside the folder of a run.
RUN_FILE = "run.json"


class Viewed(Protocol):
    """A run, as views need it."""

    @property
    def path(self) -> Place: ...
    @property
    def release(self) -> str: ...
    @property
    def snapshot(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def captured_at(self) -> datetime | None: ...
    @property
    def files(self) -> frozenset[str]: ...
    @property
    def schema_version(self) -> int: ...
    @property
    def summary(self) -> dict[str, Any]: ...
    @property
    def _tables_at(self) -> Place: ...
    @property
    def _partition(self) -> str | None: ...
    @property
    def _lake(self) -> str: ...
    @property
    def _packs(self) -> Mapping[str, str]: ...


def read_metadata(folder: Path) -> dict[str, Any]:
    """The content of `run.json`."""
    metadata: dict[str, Any] = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    return metadata


def tables_in(place: str, folder: str | None) -> str:
    """Where the tables of a run are: in an object store each attempt to write it has a folder, which `run.json` names.

    >>> tables_in("s3://heap-lake/prod/release=1/snapshot=a", "tables-1f")
    's3://heap-lake/prod/release=1/snapshot=a/tables-1f'
    """
    # A description that is damaged or hostile may name any folder.
    return f"{place}/{folder}" if folder and re.fullmatch(r"tables-[0-9a-f]+", folder) else place


def pack_of(lake: str, table: str, partition: str, schema_version: int) -> str:
    """The pack of a table of a compacted lake.

    >>> pack_of("lake", "classes", "release=1/night=2026-11-22", 4)
    'lake/tables/classes/release=1/night=2026-11-22/classes-4.parquet'
    """
    return f"{lake}/tables/{table}/{partition}/{table}-{schema_version}.parquet"


def moment(microseconds: int) -> datetime:
    """A time that is given in microseconds since 1970."""
    return EPOCH + timedelta(microseconds=microseconds)


#: Types of the columns of the view `runs` after those of the run itself, as the contract names them.
SUMMARY_TYPES = {
    "path": "Utf8",
    "source": "Utf8",
    "format": "Utf8",
    "replay": "Boolean",
    "input_bytes": "Int64",
    "input_hash": "Utf8",
    "table_bytes": "Int64",
    "node_count": "Int64",
    "edge_count": "Int64",
    "shallow_bytes": "Int64",
    "high_findings": "Int64",
    "medium_findings": "Int64",
    "low_findings": "Int64",
    "partial_reason": "Utf8",
    "texts": "Utf8",
    "heaplake_version": "Utf8",
    "schema_version": "UInt32",
    "scratch_bytes": "Int64",
    "peak_rss_bytes": "Int64",
}
