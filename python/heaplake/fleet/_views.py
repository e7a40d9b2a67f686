"""Views over a lake in Spark."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from heaplake._binary import UsageError
from heaplake._runs import RUN_FILE, SUMMARY_TYPES, tables_in
from heaplake._tables import RUN_COLUMNS, Column, ListOf, StructOf, Table, Type, own_columns, schema_version, tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

__all__ = ["Views", "spark_type"]

# What `run.json` must say to be one, as far as views need it.
_RUN_JSON = """
    heaplake_version string, schema_version int, snapshot string, release string, source string, seal string,
    input_bytes bigint, input_hash string, captured_at_us bigint, folder string, options struct<labels: map<string, string>>,
    tables array<struct<file: string, rows: bigint, bytes: bigint>>,
    summary struct<
        format: string, node_count: bigint, edge_count: bigint, shallow_bytes: bigint, partial: string,
        scratch_bytes: bigint, peak_rss_bytes: bigint, findings: array<struct<severity: string>>>,
    replay struct<facts: struct<format: string>>
"""

# The first version whose numbers have signs. Spark reads no unsigned number as one with a sign.
_SIGNED = 2

_PLAIN = {
    "Boolean": "boolean",
    "UInt8": "smallint",
    "UInt32": "bigint",
    # Spark has no unsigned numbers: this holds all of them, exactly.
    "UInt64": "decimal(20,0)",
    "Int32": "int",
    "Int64": "bigint",
    "Float64": "double",
    "Utf8": "string",
    "Timestamp": "timestamp",
    "Map": "map<string,string>",
}


def spark_type(type: Type) -> str:
    """A type of the contract, as Spark's SQL writes it.

    >>> spark_type(ListOf("UInt64"))
    'array<decimal(20,0)>'
    """
    if isinstance(type, ListOf):
        return f"array<{spark_type(type.item)}>"
    if isinstance(type, StructOf):
        return f"struct<{', '.join(f'`{field.name}`: {spark_type(field.type)}' for field in type.fields)}>"
    return _PLAIN[type]


def _schema(columns: Mapping[str, Type] | tuple[Column, ...]) -> StructType:
    from pyspark.sql.types import StructField, StructType

    pairs = columns.items() if isinstance(columns, Mapping) else ((column.name, column.type) for column in columns)
    return StructType([StructField(name, _parsed(spark_type(type))) for name, type in pairs])


def _parsed(text: str) -> DataType:
    from pyspark.sql.types import StructType

    parsed: DataType = StructType.fromDDL(f"it {text}").fields[0].dataType  # type: ignore[attr-defined]
    return parsed


class Views:
    """The runs that a lake has now, and their tables as frames of Spark.

    `lake` is a folder that the driver and all workers see under this name, or a URL that Spark reads, such as `s3a://...`.
    """

    def __init__(self, spark: SparkSession, lake: str) -> None:
        self._spark = spark
        self.lake = lake.rstrip("/") or "/"
        self._runs = self._read_runs()

    def _read_runs(self) -> list[Any]:
        """What `run.json` says of each run that this version reads, by release and name."""
        from pyspark.errors import AnalysisException
        from pyspark.sql import functions as of

        try:
            texts = self._spark.read.text(f"{self.lake}/release=*/snapshot=*/{RUN_FILE}", wholetext=True)
        except AnalysisException:
            raise UsageError(
                f"{self.lake}: there is no run",
                advice="name the folder that --out of heaplake analyze named",
                exit_code=2,
            ) from None
        parsed = of.from_json("value", _RUN_JSON).alias("run")
        found = texts.select(of.col("_metadata.file_path").alias("at"), parsed).select("at", "run.*").collect()
        known = schema_version()
        runs = []
        for run in sorted(found, key=lambda run: (run.release or "", run.snapshot or "")):
            if run.release is None or run.schema_version is None:
                warnings.warn(f"{run['at']}: left out: this is no description of a run", stacklevel=4)
            elif run.schema_version > known:
                warnings.warn(
                    f"{run['at']}: left out: its tables are of a newer version, {run.schema_version}", stacklevel=4
                )
            else:
                runs.append(run)
        return runs

    def runs(self) -> DataFrame:
        """A row per run, with the columns of the view `runs` of `heaplake sql`."""
        return self._run_frame

    @cached_property
    def _run_frame(self) -> DataFrame:
        from pyspark.sql import functions as of

        types = {**{column.name: column.type for column in RUN_COLUMNS}, **SUMMARY_TYPES}
        # Microseconds, of which Spark makes a time: a time of Python would go by the zone of the driver.
        schema = _schema({**types, "captured_at": "Int64"})
        own = self._spark.createDataFrame([self._row(run) for run in self._runs], schema)
        return own.withColumn("captured_at", of.timestamp_micros("captured_at"))

    def run_tables(self) -> DataFrame:
        """A row per table of a run: `release`, `snapshot`, `table_name`, `rows`, `bytes`."""
        rows = [
            (run.release, run.snapshot, table.file.removesuffix(".parquet"), table.rows, table.bytes)
            for run in self._runs
            for table in run.tables or ()
        ]
        types = {"release": "Utf8", "snapshot": "Utf8", "table_name": "Utf8", "rows": "Int64", "bytes": "Int64"}
        return self._spark.createDataFrame(rows, _schema(types))

    def table(self, name: str) -> DataFrame:
        """A table over all runs that have it. The columns of the run come first; one that a run lacks is null in its
        rows."""
        from pyspark.sql import functions as of

        table = tables()[name]
        rows = self._read(table, [run for run in self._runs if _has(run, table)], own_columns(table))
        of_run = self.runs().select(*(column.name for column in RUN_COLUMNS))
        own = (column.name for column in own_columns(table))
        return rows.join(of.broadcast(of_run), ["release", "snapshot"]).select(*of_run.columns, *own)

    def _read(self, table: Table, runs: list[Any], columns: tuple[Column, ...]) -> DataFrame:
        """These columns of a table of these runs, after `release` and `snapshot`."""
        new, old = _apart(runs, lambda run: run.schema_version >= _SIGNED)
        # The schema of the contract, so that no footer is read before a query asks for the file.
        of_file = (*RUN_COLUMNS[:2], *columns) if table.names_run else columns
        parts = [self._files(table, new, _schema(of_file))] if new else []
        if old:
            stored = self._files(table, old, None)
            parts.append(stored.select(*(_as_now(column, stored.columns) for column in of_file), "_metadata"))
        if not parts:
            return self._spark.createDataFrame([], _schema((*RUN_COLUMNS[:2], *columns)))
        if not table.names_run:
            parts = [part.select(*map(_in_path, ("release", "snapshot")), "*") for part in parts]
        names = ("release", "snapshot", *(column.name for column in columns))
        return reduce(lambda one, other: one.unionByName(other), [part.select(*names) for part in parts])

    def _files(self, table: Table, runs: list[Any], schema: StructType | None) -> DataFrame:
        """The table of these runs. Without a schema, that of the files, each of which is asked for it."""
        # Names of files may have what is a pattern to Hadoop.
        files = [re.sub(r"([][*?{}])", r"\\\1", f"{_place_of_tables(run)}/{table.file}") for run in runs]
        reader = self._spark.read.option("mergeSchema", schema is None)
        return (reader if schema is None else reader.schema(schema)).parquet(*files)

    def create(self, names: Iterable[str] | None = None) -> list[str]:
        """Makes temporary views of tables, all where none are named, and of `runs` and `run_tables`; their names.

        A table of which a file is gone has no view; a warning says so.
        """
        from pyspark.errors import AnalysisException

        made = ["runs", "run_tables"]
        self.runs().createOrReplaceTempView("runs")
        self.run_tables().createOrReplaceTempView("run_tables")
        for name in names if names is not None else (table.name for table in tables().values() if table.of_runs):
            try:
                self.table(name).createOrReplaceTempView(name)
                made.append(name)
            except AnalysisException as problem:
                warnings.warn(f"{name}: left out: {str(problem).splitlines()[0]}", stacklevel=3)
        return sorted(made)

    def _row(self, run: Any) -> tuple[Any, ...]:
        summary, replay = run.summary, run.replay
        severities = [finding.severity for finding in summary.findings or ()]
        heap = (None, None, None) if replay else (summary.node_count, summary.edge_count, summary.shallow_bytes)
        return (
            *(run.release, run.snapshot, self._captured(run), run.options.labels or {}),
            *(_place(run).removeprefix("file://"), run.source),
            *(replay.facts.format if replay else summary.format, replay is not None),
            *(run.input_bytes, run.input_hash, sum(table.bytes for table in run.tables or ())),
            *heap,
            *(severities.count(severity) for severity in ("high", "medium", "low")),
            *(summary.partial, run.heaplake_version, run.schema_version, summary.scratch_bytes, summary.peak_rss_bytes),
        )

    def _captured(self, run: Any) -> int | None:
        """When the input was captured, in microseconds since 1970. Of older versions the table `snapshot` tells."""
        told: int | None = run.captured_at_us
        if told is not None or run.seal is not None:
            return told
        return self._captured_in_tables.get((run.release, run.snapshot))

    @cached_property
    def _captured_in_tables(self) -> dict[tuple[str, str], int]:
        from pyspark.sql import functions as of

        table = tables()["snapshot"]
        silent = [run for run in self._runs if run.captured_at_us is None and run.seal is None and _has(run, table)]
        captured_at = tuple(column for column in table.columns if column.name == "captured_at")
        told = self._read(table, silent, captured_at).select(
            "release", "snapshot", of.unix_micros("captured_at").alias("at")
        )
        return {(row.release, row.snapshot): row["at"] for row in told.collect() if row["at"] is not None}


def _apart(items: list[Any], holds: Callable[[Any], bool]) -> tuple[list[Any], list[Any]]:
    """Those for which it holds, and the others."""
    return [item for item in items if holds(item)], [item for item in items if not holds(item)]


def _as_now(column: Column, stored: list[str]) -> Any:
    """A column of an older version with the name and the type that it has now."""
    from pyspark.sql import functions as of

    value = of.col(column.name) if column.name in stored else of.lit(None)
    return value.cast(_parsed(spark_type(column.type))).alias(column.name)


def _has(run: Any, table: Table) -> bool:
    return any(listed.file == table.file for listed in run.tables or ())


def _place(run: Any) -> str:
    """The folder of a run. Spark says it as a URL, and reads it as it is."""
    return unquote(run["at"]).rsplit("/", 1)[0]


def _place_of_tables(run: Any) -> str:
    """The folder of its tables: in an object store each attempt to write the run has one."""
    return tables_in(_place(run), run.folder)


def _in_path(name: str) -> Any:
    """A name of the run, from the path of the file."""
    from pyspark.sql import functions as of

    part = of.regexp_extract(of.col("_metadata.file_path"), f"/{name}=([^/]*)/", 1)
    # The path is a URL, in which a plus is no space.
    return of.url_decode(of.regexp_replace(part, r"\+", "%2B")).alias(name)
