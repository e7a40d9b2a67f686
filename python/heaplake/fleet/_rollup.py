"""The rollup of a table as one statement, for DataFusion and Spark alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from heaplake._binary import UsageError
from heaplake._tables import tables

__all__ = ["TABLES", "WITH_FINGERPRINTS", "statement"]

#: The first version of the tables with fingerprints.
WITH_FINGERPRINTS = 3

#: Tables of runs that are rolled up, with the table of the rollup.
TABLES = {
    "object_lifetimes" if name == "rollup_lifetimes" else name.removeprefix("rollup_"): table
    for name, table in tables().items()
    if table.of == "rollup"
}

_QUANTILES = {"median": 50, "p90": 90, "p99": 99}


def measures(table: str) -> tuple[str, ...]:
    """The numbers of a table that are summed up; the first one says which run is the worst."""
    return TABLES[table].measures


def statement(table: str = "classes", by: Sequence[str] = ("release",), *, run_tables: bool = True) -> str:
    """The rollup of a table in SQL: the rows of `heaplake fleet rollup --by`, with a column `label_NAME` for each label
    that runs are grouped by in place of the map `labels`.

    A row is a fingerprint and a measure. A sum or a quantile is one of whole numbers, without any float: exact up to 90 TB;
    so is a mean up to 2^53. `run_tables=False` does without
    the view `run_tables`, which DataFusion does not have: a run whose table is empty is then not among `runs`.
    """
    if table not in TABLES:
        known = ", ".join(TABLES)
        raise UsageError(f"{table}: this table has no rollup", advice=f"name one of {known}", exit_code=2)
    keys = ["format", *map(_key, by)]
    numbers = measures(table)
    group = ", ".join(keys)
    return f"""WITH sides AS (
    SELECT {_sides(by)}
    FROM runs
    {_with_table(table, run_tables)}
    WHERE runs.schema_version >= {WITH_FINGERPRINTS}
), all_sides AS (
    SELECT {group}, count(*) AS runs, nullif(count(DISTINCT host), 0) AS hosts
    FROM sides
    GROUP BY {group}
), by_run AS (
    SELECT {", ".join(f"sides.{key}" for key in keys)}, {_of_run("sides")}, of_run.fingerprint, of_run.signature,
           {_lines(f"sum(of_run.{number}) AS {number}" for number in numbers)}
    FROM {table} AS of_run JOIN sides ON of_run.release = sides.run_release AND of_run.snapshot = sides.run_snapshot
    GROUP BY {", ".join(f"sides.{key}" for key in keys)}, {_of_run("sides")}, of_run.fingerprint, of_run.signature
), ranked AS (
    SELECT by_run.*, row_number() OVER (
        PARTITION BY {group}, fingerprint ORDER BY {numbers[0]} DESC NULLS LAST, run_release, run_snapshot
    ) AS place, row_number() OVER (PARTITION BY {group}, fingerprint, host ORDER BY run_release, run_snapshot) AS of_host
    FROM by_run
), summed AS (
    SELECT {group}, fingerprint, signature, count(*) AS runs_with,
           count(CASE WHEN of_host = 1 THEN host END) AS hosts_with, min(captured_at) AS first_seen, max(captured_at) AS last_seen,
           min(CASE WHEN place = 1 THEN run_release END) AS worst_release,
           min(CASE WHEN place = 1 THEN run_snapshot END) AS worst_snapshot,
           {_lines(_sums(number) for number in numbers)}
    FROM ranked
    GROUP BY {group}, fingerprint, signature
), of_measure AS (
    SELECT summed.*, measures.place, measures.measure
    FROM summed CROSS JOIN (VALUES {_listed(numbers)}) AS measures(place, measure)
)
SELECT {", ".join(f"of_measure.{key}" for key in keys)}, of_measure.signature, of_measure.fingerprint, of_measure.measure,
       all_sides.runs, of_measure.runs_with, all_sides.hosts,
       CASE WHEN all_sides.hosts IS NOT NULL THEN of_measure.hosts_with END AS hosts_with,
       {_lines(_columns(numbers), 7)},
       of_measure.first_seen, of_measure.last_seen, of_measure.worst_release, of_measure.worst_snapshot
FROM of_measure JOIN all_sides
     ON {" AND ".join(f"(of_measure.{key} IS NOT DISTINCT FROM all_sides.{key})" for key in keys)}
ORDER BY {", ".join(f"of_measure.{key} NULLS FIRST" for key in keys)}, of_measure.fingerprint, of_measure.place"""


# The rows of each measure are made before the last join: beside a cross join, DataFusion takes nulls of keys for different.
def _listed(numbers: Sequence[str]) -> str:
    return ", ".join(f"({at}, '{number}')" for at, number in enumerate(numbers))


def _key(by: str) -> str:
    """The column of what runs are grouped by."""
    name = by.removeprefix("label.")
    if by == "release":
        return "release"
    if name == by or not name.isidentifier():
        raise UsageError(f"{by!r}: runs are grouped by release or label.NAME", advice="NAME is one word", exit_code=2)
    return f"label_{name}"


# Hosts are counted by a window: a distinct count beside lists of values takes Spark two more shuffles of the lists.
def _sides(by: Sequence[str]) -> str:
    labels = [f"runs.labels['{key.removeprefix('label.')}'] AS {_key(key)}" for key in by if key != "release"]
    release = ["runs.release"] if "release" in by else []
    own = ["runs.release AS run_release", "runs.snapshot AS run_snapshot", "runs.captured_at"]
    return ", ".join(["runs.format", *release, *labels, *own, "runs.labels['host'] AS host"])


def _of_run(side: str) -> str:
    """What is the same in all rows of a run: grouped by rather than summed up, which both engines do by hash."""
    return ", ".join(f"{side}.{column}" for column in ("run_release", "run_snapshot", "host", "captured_at"))


def _with_table(table: str, run_tables: bool) -> str:
    there = f"SELECT release, snapshot FROM run_tables WHERE table_name = '{table}'"
    if not run_tables:
        there = f"SELECT DISTINCT release, snapshot FROM {table}"
    return f"JOIN ({there}) AS there ON there.release = runs.release AND there.snapshot = runs.snapshot"


def _lines(columns: Iterable[str], indent: int = 11) -> str:
    return (",\n" + " " * indent).join(columns)


def _sums(number: str) -> str:
    values = f"array_sort(array_agg({number}) FILTER (WHERE {number} IS NOT NULL)) AS all_{number}"
    return f"sum({number}) AS sum_{number}, count({number}) - 1 AS last_{number}, {values}"


def _columns(numbers: Sequence[str]) -> list[str]:
    """The columns of a measure, in the order of the table; each is that of the measure of the row."""

    def chosen(name: str, of: Callable[[str, str, str], str]) -> str:
        cases = (f"WHEN {at} THEN {of(f'sum_{n}', f'last_{n}', f'all_{n}')}" for at, n in enumerate(numbers))
        return f"CASE of_measure.place {' '.join(cases)} END AS {name}"

    def quantile(percent: int) -> Callable[[str, str, str], str]:
        return lambda _, last, values: _quantile(values, last, percent)

    def largest(_: str, last: str, values: str) -> str:
        return _at(values, last, f"{last} + 1")

    return [
        chosen("sum", lambda total, *_: total),
        chosen("mean", lambda total, last, _: _mean(total, last)),
        *(chosen(name, quantile(_QUANTILES[name])) for name in ("median", "p90")),
        chosen("max", largest),
        chosen("min", lambda _, last, values: _at(values, last, "1")),
        chosen("p99", quantile(_QUANTILES["p99"])),
    ]


def _mean(total: str, last: str) -> str:
    """Rounded half away from zero; of one value that itself."""
    mean = f"CAST(round(CAST({total} AS DOUBLE) / ({last} + 1)) AS BIGINT)"
    return f"CASE WHEN {last} = 0 THEN {total} WHEN {last} > 0 THEN {mean} END"


def _at(values: str, last: str, place: str) -> str:
    return f"CASE WHEN {last} >= 0 THEN array_element({values}, CAST({place} AS INT)) END"


def _quantile(values: str, last: str, percent: int) -> str:
    """The value at place `last * percent / 100` from 0, linear between its neighbours, rounded half away from zero.
    Values are not negative."""
    place = f"{last} * {percent}"
    below = f"({place} - ({place}) % 100) / 100 + 1"
    above = f"({place} - ({place}) % 100) / 100 + CASE WHEN ({place}) % 100 > 0 THEN 2 ELSE 1 END"
    low, high = f"array_element({values}, CAST({below} AS INT))", f"array_element({values}, CAST({above} AS INT))"
    hundredths = f"(({high} - {low}) * (({place}) % 100) + 50)"
    whole = f"CAST(({hundredths} - {hundredths} % 100) / 100 AS BIGINT)"
    return f"CASE WHEN {last} >= 0 THEN {low} + {whole} END"
