"""The tables of the contract: names, columns, types. `tables.json` has them, written from the schemas of the binary."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Column", "ListOf", "StructOf", "Table", "Type", "schema_version", "tables"]


@dataclass(frozen=True)
class ListOf:
    """The type of a list."""

    item: Type


@dataclass(frozen=True)
class StructOf:
    """The type of several fields."""

    fields: tuple[Column, ...]


#: `Boolean`, `UInt8`, `UInt32`, `UInt64`, `Int32`, `Int64`, `Float64`, `Utf8`, `Timestamp`, `Map`, or one of others.
Type = str | ListOf | StructOf


@dataclass(frozen=True)
class Column:
    """A column of a table.

    - `unit`: what its values are counted in, such as `bytes`, `count`, `edges`
    - `nullable`: whether a value can be null, which means that the input does not tell it, never zero
    - `meaning`: what it says
    """

    name: str
    type: Type
    unit: str
    nullable: bool
    meaning: str


@dataclass(frozen=True)
class Table:
    """A table of the contract.

    - `of`: the command that writes it: `analyze`, `replay`, `both` of these, `diff`, `trend` or `rollup`
    - `row`: what a row is, as in "one row per ..."
    - `measures`: of a table in long form, in which each subject has a row for each of them; the first ranks
    """

    name: str
    of: str
    row: str
    columns: tuple[Column, ...]
    measures: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """The file of the table inside the folder of a run."""
        return f"{self.name}.parquet"

    @property
    def of_runs(self) -> bool:
        """Whether runs have it; other tables are those of comparisons, series and rollups."""
        return self.of in ("analyze", "replay", "both")

    @property
    def names_run(self) -> bool:
        """Whether its rows name their run in the columns `release` and `snapshot`."""
        return bool(self.columns) and self.columns[0].name == "release"

    def polars_schema(self) -> dict[str, pl.DataType]:
        """Its columns in polars."""
        return {column.name: polars_type(column.type) for column in self.columns}


def _type(said: Any) -> Type:
    if isinstance(said, str):
        return said
    if "list" in said:
        return ListOf(_type(said["list"]))
    return StructOf(tuple(_column(field) for field in said["struct"]))


def _column(said: dict[str, Any]) -> Column:
    return Column(said["name"], _type(said["type"]), said["unit"], said["null"], said["meaning"])


@cache
def _said() -> dict[str, Any]:
    said: dict[str, Any] = json.loads(files("heaplake").joinpath("tables.json").read_text(encoding="utf-8"))
    return said


@cache
def tables() -> dict[str, Table]:
    """All tables of the contract by name.

    >>> tables()["classes"].row
    'class with at least one instance'
    """
    shared = {of: tuple(map(_column, columns)) for of, columns in _said()["shared"].items()}

    def table(said: dict[str, Any]) -> Table:
        measures, columns = tuple(said.get("measures", ())), tuple(map(_column, said["columns"]))
        return Table(
            said["name"], said["of"], said["row"], columns + (shared[said["of"]] if measures else ()), measures
        )

    return {said["name"]: table(said) for said in _said()["tables"]}


def schema_version() -> int:
    """The version of the tables that this package knows."""
    return int(_said()["schema_version"])


@cache
def of_measure() -> frozenset[str]:
    """Columns of tables in long form that have a value per measure. The others are the same in all rows of a subject."""
    return frozenset(_said()["of_measure"])


#: The columns that every view has of its run, before its own.
RUN_COLUMNS = (
    Column("release", "Utf8", "text", False, "Release that the run belongs to"),
    Column("snapshot", "Utf8", "text", False, "Name of the run"),
    Column("captured_at", "Timestamp", "time (UTC)", True, "When the input was captured; null where nothing tells"),
    Column("labels", "Map", "text", False, "Labels of the run"),
)


def own_columns(table: Table) -> tuple[Column, ...]:
    """The columns of a view that are not of its run."""
    of_run = {column.name for column in RUN_COLUMNS}
    return tuple(column for column in table.columns if column.name not in of_run)


def view_columns(table: Table) -> tuple[Column, ...]:
    """All columns of a view over runs, in order."""
    return RUN_COLUMNS + own_columns(table)


def polars_type(type: Type) -> pl.DataType:
    """A type in polars."""
    import polars as pl

    if isinstance(type, ListOf):
        return pl.List(polars_type(type.item))
    if isinstance(type, StructOf):
        return pl.Struct({field.name: polars_type(field.type) for field in type.fields})
    plain: dict[str, pl.DataType] = {
        "Boolean": pl.Boolean(),
        "UInt8": pl.UInt8(),
        "UInt32": pl.UInt32(),
        "UInt64": pl.UInt64(),
        "Int32": pl.Int32(),
        "Int64": pl.Int64(),
        "Float64": pl.Float64(),
        "Utf8": pl.String(),
        "Timestamp": pl.Datetime("us", "UTC"),
        "Map": pl.Map(pl.String(), pl.String()),
    }
    return plain[type]


_DUCKDB = {
    "Boolean": "BOOLEAN",
    "UInt8": "UTINYINT",
    "UInt32": "UINTEGER",
    "UInt64": "UBIGINT",
    "Int32": "INTEGER",
    "Int64": "BIGINT",
    "Float64": "DOUBLE",
    "Utf8": "VARCHAR",
    "Timestamp": "TIMESTAMP WITH TIME ZONE",
    "Map": "MAP(VARCHAR, VARCHAR)",
}


def duckdb_type(type: Type) -> str:
    """A type in DuckDB, as SQL writes it."""
    if isinstance(type, ListOf):
        return f"{duckdb_type(type.item)}[]"
    if isinstance(type, StructOf):
        fields = ", ".join(f'"{field.name}" {duckdb_type(field.type)}' for field in type.fields)
        return f"STRUCT({fields})"
    return _DUCKDB[type]
