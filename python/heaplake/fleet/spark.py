"""A lake in Spark: views over all runs, rollups, and the named queries of `heaplake sql`.

    spark = SparkSession.builder.master("spark://head:7077").config("spark.sql.session.timeZone", "UTC").getOrCreate()
    lake = heaplake.fleet.spark.open(spark, "/shared/lake")
    spark.sql("SELECT release, count(*) FROM runs GROUP BY release").show()
    lake.rollup("classes", by=["release", "label.region"]).write.parquet("/shared/night")
    lake.named("worst-findings", limit=5).show()

The views are those of `heaplake sql`: each table begins with `release`, `snapshot`, `captured_at` and `labels` of its run,
a column that an older run lacks is null, and runs of newer versions are left out with a warning. `fingerprint` is a
`decimal(20,0)`, since Spark has no unsigned numbers. Workers need Python, but not this package.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from heaplake._binary import UsageError
from heaplake.fleet import _rollup
from heaplake.fleet._dialect import for_spark
from heaplake.fleet._views import Views

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkLake", "named_queries", "open"]


class SparkLake(Views):
    """A lake in a session of Spark, as it was when it was opened."""

    def rollup(self, table: str = "classes", by: Sequence[str] = ("release",)) -> DataFrame:
        """The rollup of a table: the rows of `heaplake fleet rollup --by`, sorted by group and fingerprint.

        There is a column `label_NAME` for each label that runs are grouped by. Quantiles are exact. What one value of a
        table has in all runs of a group is in the memory of one task at a time: 8 bytes per run and measure.
        """
        return self._spark.sql(for_spark(_rollup.statement(table, by)))

    def named(self, name: str, **parameters: str | int) -> DataFrame:
        """A query of the library of `heaplake sql`, with its parameters."""
        text = named_queries().get(name)
        if text is None:
            raise UsageError(
                f"there is no query {name!r}", advice=f"use one of {', '.join(named_queries())}", exit_code=2
            )
        return self._spark.sql(for_spark(text), args=_values(name, text, parameters))


def open(spark: SparkSession, lake: str, tables: Iterable[str] | None = None) -> SparkLake:
    """Makes views of a lake in the session, and returns what asks them. `lake` is a folder that the driver and all
    workers see, or a URL such as `s3a://bucket/lake`.

    The runs are those that the lake has now; open it again to see later ones. The files of each view are listed once:
    with thousands of runs, name the `tables` that are asked for.
    """
    opened = SparkLake(spark, lake)
    opened.create(tables)
    return opened


def named_queries() -> dict[str, str]:
    """The texts of the queries with names.

    >>> "worst-hosts" in named_queries()
    True
    """
    folder = files("heaplake").joinpath("queries")
    found = [entry for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return {entry.name.removesuffix(".sql"): entry.read_text(encoding="utf-8") for entry in sorted(found, key=str)}


def _values(name: str, text: str, given: dict[str, str | int]) -> dict[str, str | int]:
    """The values of all parameters: those given, or their defaults."""
    values: dict[str, str | int] = {}
    declared = [
        line.removeprefix("-- $").split(":")[0].split() for line in text.splitlines() if line.startswith("-- $")
    ]
    for parameter, kind, *default in declared:
        value = given.get(parameter, default[0] if default else None)
        if value is None:
            raise UsageError(
                f"{name}: the parameter {parameter} has no value", advice=f"give {parameter}=", exit_code=2
            )
        values[parameter] = int(value) if kind == "integer" else str(value)
    for parameter in given:
        if parameter not in values:
            raise UsageError(f"{name}: there is no parameter {parameter!r}", advice="see its text", exit_code=2)
    return values
