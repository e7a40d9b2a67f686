"""Views over runs in polars: one table of several runs, with the columns of the run before its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heaplake import _runs, _tables
from heaplake._runs import Viewed
from heaplake._tables import Table

if TYPE_CHECKING:
    import polars as pl


_PATH = "heaplake file"


def view(table: Table, runs: Sequence[Viewed]) -> pl.LazyFrame:
    """One table of the runs that have it, lazily.

    Conditions on columns are pushed into the scan: the statistics of `release` rule out whole files. A column that the
    files of an older version lack is null there, and what had another type has that of today.
    """
    import polars as pl

    having = [run for run in runs if table.file in run.files]
    packed = [run for run in having if table.file in run._packs]
    single = [run for run in having if table.file not in run._packs]
    if not having:
        return pl.LazyFrame(schema={c.name: _tables.polars_type(c.type) for c in _tables.view_columns(table)})
    views = [_single(table, single)] if single else []
    views += [_packed(table, packed)] if packed else []
    return pl.concat(views) if len(views) > 1 else views[0]


def _single(table: Table, having: Sequence[Viewed]) -> pl.LazyFrame:
    """The table of runs that have a file of it."""
    import polars as pl

    names = [column.name for column in _tables.view_columns(table)]
    paths = {str(run._tables_at / table.file): run for run in having}
    of_run = of_runs(paths.values()).with_columns(pl.Series(_PATH, list(paths)))
    today = [path for path, run in paths.items() if run.schema_version == _tables.schema_version()]
    others = [path for path, run in paths.items() if run.schema_version != _tables.schema_version()]
    scans = [_scan(today, table)] if today else []
    scans += [_scan_older(files, table) for files in _alike(others)]
    rows = pl.concat(scans) if len(scans) > 1 else scans[0]
    joined = rows.join(of_run.lazy(), on=_PATH, how="left", maintain_order="left", suffix=" of the run")
    return joined.select(names)


def _packed(table: Table, having: Sequence[Viewed]) -> pl.LazyFrame:
    """The table of runs of a compacted lake: packs have signed numbers, and may have rows of runs that are gone."""
    import polars as pl

    key = [_PATH, "release", "snapshot"]
    of_run = of_runs(having).with_columns(pl.Series(_PATH, [run._packs[table.file] for run in having])).lazy()
    views = []
    for files in _alike(sorted({run._packs[table.file] for run in having})):
        there = set(pl.read_parquet_schema(files[0]))
        rows = pl.scan_parquet(files, glob=False, hive_partitioning=False, include_file_paths=_PATH)
        of_file = [column for column in table.columns if column.name not in ("release", "snapshot")]
        kinds = [(column.name, _tables.polars_type(column.type)) for column in of_file]
        # 64 bits keep their value as an unsigned number.
        own = [
            (pl.col(name) if name in there else pl.lit(None)).cast(kind, wrap_numerical=kind == pl.UInt64).alias(name)
            for name, kind in kinds
        ]
        joined = rows.select([*own, *(pl.col(name) for name in key)]).join(of_run, on=key, maintain_order="left")
        views.append(joined.select([column.name for column in _tables.view_columns(table)]))
    return pl.concat(views) if len(views) > 1 else views[0]


def of_runs(runs: Iterable[Viewed]) -> pl.DataFrame:
    """The columns of the run that each view begins with, a row per run."""
    import polars as pl

    having = list(runs)
    values: dict[str, list[object]] = {
        "release": [run.release for run in having],
        "snapshot": [run.snapshot for run in having],
        "captured_at": [run.captured_at for run in having],
        "labels": [dict(run.labels) for run in having],
    }
    kinds = {column.name: _tables.polars_type(column.type) for column in _tables.RUN_COLUMNS}
    return pl.DataFrame([pl.Series(name, values[name], dtype=kind) for name, kind in kinds.items()])


def tables_of(folders: Sequence[Path], table: Table) -> pl.LazyFrame:
    """A table of comparisons, series or rollups in several folders, as it is."""
    import polars as pl

    files = [str(folder / table.file) for folder in folders if (folder / table.file).is_file()]
    if not files:
        return pl.LazyFrame(schema=table.polars_schema())
    return pl.scan_parquet(files, schema=table.polars_schema(), glob=False, hive_partitioning=False)


def _scan(files: list[str], table: Table) -> pl.LazyFrame:
    """Files of this version: new columns keep the version, so some may lack a few."""
    import polars as pl

    rows = pl.scan_parquet(
        files,
        schema=table.polars_schema(),
        glob=False,
        hive_partitioning=False,
        include_file_paths=_PATH,
        missing_columns="insert",
        extra_columns="ignore",
        cast_options=pl.ScanCastOptions(missing_struct_fields="insert", extra_struct_fields="ignore"),
    )
    return rows.select(_own(table, {column.name for column in table.columns}))


def _scan_older(files: list[str], table: Table) -> pl.LazyFrame:
    """Files of an older version, all with the same columns."""
    import polars as pl

    there = set(pl.read_parquet_schema(files[0]))
    rows = pl.scan_parquet(files, glob=False, hive_partitioning=False, include_file_paths=_PATH)
    return rows.select(_own(table, there))


def _own(table: Table, there: set[str]) -> list[pl.Expr]:
    """The columns that come from the files, with the types of the contract: null where the files lack one."""
    import polars as pl

    # `snapshot` of a run is in the files too, so that conditions on it reach their statistics.
    of_file = [column for column in table.columns if column.name not in ("captured_at", "labels")]
    wanted = [(column.name, _tables.polars_type(column.type)) for column in of_file]
    columns = [(pl.col(name) if name in there else pl.lit(None)).cast(kind).alias(name) for name, kind in wanted]
    return [*columns, pl.col(_PATH)]


def _alike(files: list[str]) -> list[list[str]]:
    """The files by their columns and types, in order."""
    import polars as pl

    groups: dict[str, list[str]] = {}
    for file in files:
        groups.setdefault(str(pl.read_parquet_schema(file)), []).append(file)
    return list(groups.values())


def runs_view(runs: Sequence[Viewed]) -> pl.LazyFrame:
    """The view `runs`: a row per run, from `run.json`."""
    import polars as pl

    schema = {name: _tables.polars_type(kind) for name, kind in _runs.SUMMARY_TYPES.items()}
    summaries = pl.DataFrame([run.summary for run in runs], schema=schema, orient="row")
    return pl.concat([of_runs(runs), summaries], how="horizontal").lazy()
