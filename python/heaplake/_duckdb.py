"""Views over runs in DuckDB: those that `heaplake sql` has."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from heaplake import _runs, _stores, _tables
from heaplake._optional import needed
from heaplake._places import Url
from heaplake._runs import Viewed
from heaplake._tables import Table

if TYPE_CHECKING:
    import duckdb


def connect(runs: Sequence[Viewed]) -> duckdb.DuckDBPyConnection:
    """A connection in memory with a view per table, and `runs`.

    Making it opens no table. What a file of an older version lacks is null.
    """
    connection: duckdb.DuckDBPyConnection = needed("duckdb", "duckdb").connect(":memory:")
    connection.execute("SET TimeZone = 'UTC'")
    if runs and isinstance(runs[0].path, Url):
        connection.register_filesystem(_stores.filesystem(runs[0].path))
    _create_runs(connection, runs)
    for table in _tables.tables().values():
        if table.of_runs:
            having = [run for run in runs if table.file in run.files]
            single = [f"{run._tables_at}/{table.file}" for run in having if table.file not in run._packs]
            packs = sorted({run._packs[table.file] for run in having if table.file in run._packs})
            for what, files in (("files", single), ("packs", packs)):
                # As a variable: a list of thousands of files takes seconds to parse as a part of each view.
                variable = _name(_variable(what, table))
                connection.execute(f"SET VARIABLE {variable} = ?::VARCHAR[]", [[_unglobbed(file) for file in files]])
            connection.execute(_view(table, bool(single), bool(packs)))
    return connection


def _create_runs(connection: duckdb.DuckDBPyConnection, runs: Sequence[Viewed]) -> None:
    own = [f"{_name(name)} {_tables.duckdb_type(kind)}" for name, kind in _runs.SUMMARY_TYPES.items()]
    first = [f"{_name(c.name)} {_tables.duckdb_type(c.type)}" for c in _tables.RUN_COLUMNS]
    connection.execute("CREATE SCHEMA heaplake")
    where = "folder VARCHAR, lake VARCHAR, partition VARCHAR"
    connection.execute(f"CREATE TABLE heaplake.runs ({where}, {', '.join(first + own)})")
    if runs:
        # One statement with a list per column: a statement per row takes a hundred times as long.
        listed = ", ".join(f"unnest(?::{_tables.duckdb_type(kind)}[])" for kind in _runs.SUMMARY_TYPES.values())
        names = ", ".join(["unnest(?::VARCHAR[])"] * 5)
        of_run = f"{names}, make_timestamptz(unnest(?::BIGINT[])), MAP(unnest(?::VARCHAR[][]), unnest(?::VARCHAR[][]))"
        rows = [_run(run) for run in runs]
        columns = [list(column) for column in zip(*rows, strict=True)]
        connection.execute(f"INSERT INTO heaplake.runs SELECT {of_run}, {listed}", columns)
    connection.execute("CREATE VIEW runs AS SELECT * EXCLUDE (folder, lake, partition) FROM heaplake.runs")


def _run(run: Viewed) -> list[Any]:
    labels = [list(run.labels.keys()), list(run.labels.values())]
    where = [str(run._tables_at), run._lake, run._partition]
    return [*where, run.release, run.snapshot, _micros(run.captured_at), *labels, *run.summary.values()]


def _micros(at: datetime | None) -> int | None:
    """Microseconds since 1970, exactly."""
    if at is None:
        return None
    since = at - _runs.EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _variable(what: str, table: Table) -> str:
    """Name of the variable with the files or packs of a table."""
    return f"heaplake {what} of {table.name}"


def _view(table: Table, has_files: bool, has_packs: bool) -> str:
    if not has_files and not has_packs:
        columns = [f"NULL::{_tables.duckdb_type(c.type)} AS {_name(c.name)}" for c in _tables.view_columns(table)]
        return f"CREATE VIEW {_name(table.name)} AS SELECT {', '.join(columns)} WHERE false"
    # The names of the run are in the files too: there, their statistics rule out whole files.
    of_files = {"release", "snapshot"} if table.names_run else set()
    of_run = [f"{'t' if c.name in of_files else 'r'}.{_name(c.name)}" for c in _tables.RUN_COLUMNS]
    own = [f"t.{_name(c.name)}" for c in _tables.own_columns(table)]
    parts = []
    if has_files:
        condition = f"t.filename = r.folder || '/{table.file}'"
        parts.append(
            f"SELECT {', '.join(of_run + own)} FROM {_read(table)} AS t JOIN heaplake.runs AS r ON {condition}"
        )
    if has_packs:
        parts.append(_packed(table, of_run))
    return f"CREATE VIEW {_name(table.name)} AS {' UNION ALL '.join(parts)}"


def _packed(table: Table, of_run: list[str]) -> str:
    """The rows of packs that belong to runs of the lake, with the types of the contract."""
    own = [
        f"{_unsigned(f't.{_name(c.name)}', _tables.duckdb_type(c.type))} AS {_name(c.name)}"
        for c in _tables.own_columns(table)
    ]
    pack = f"r.lake || '/tables/{table.name}/' || r.partition || '/{table.name}-' || r.schema_version || '.parquet'"
    condition = f"t.filename = {pack} AND t.release = r.release AND t.snapshot = r.snapshot"
    variable = _text(_variable("packs", table))
    rows = f"read_parquet(getvariable({variable}), union_by_name = true, filename = true, hive_partitioning = false)"
    return f"SELECT {', '.join(of_run + own)} FROM {rows} AS t JOIN heaplake.runs AS r ON {condition}"


def _unsigned(column: str, kind: str) -> str:
    """A column of a pack, whose 64-bit numbers are signed."""
    if kind != "UBIGINT":
        return f"{column}::{kind}"
    return f"(CASE WHEN {column} < 0 THEN {column}::HUGEINT + 18446744073709551616 ELSE {column} END)::UBIGINT"


def _read(table: Table) -> str:
    """All files as one table: columns by name, with the types of the contract, null where a file lacks one."""
    columns = [
        f"{_text(c.name)}: {{name: {_text(c.name)}, type: {_text(_tables.duckdb_type(c.type))}, default_value: NULL}}"
        for c in table.columns
    ]
    schema = f"MAP {{{', '.join(columns)}}}"
    variable = _text(_variable("files", table))
    return f"read_parquet(getvariable({variable}), schema = {schema}, filename = true, hive_partitioning = false)"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _unglobbed(path: str) -> str:
    """A path in which nothing is a pattern."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)
