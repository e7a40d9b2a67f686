"""Tables in long form as wide ones: a row per subject, with a column for each number of each measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heaplake._tables import of_measure

if TYPE_CHECKING:
    import polars as pl

#: Columns of series that say something of a step.
OF_STEP = ("runs", "runs_with", "hosts", "hosts_with", "sum", "mean", "median", "p90", "max")

#: Columns of series that are equal in all rows of a subject: they keep their names.
_OF_SUBJECT = {"grown_on", "grown_on_names"}

#: What tells subjects apart; of rollups the columns of the group, too.
_SUBJECT = ("format", "release", "labels", "fingerprint")


def wide(frame: pl.LazyFrame, measures: Sequence[str], fields: Sequence[str] | None = None) -> pl.LazyFrame:
    """A row per subject, in the order of its first row. Numbers of series are lists, by step."""
    import polars as pl

    names = frame.collect_schema().names()
    by_step = OF_STEP if "step" in names else ()
    subject = [name for name in _SUBJECT if name in names]
    first = pl.col("measure") == pl.col("measure").first()
    numbers = of_measure() - _OF_SUBJECT
    columns = []
    for name in names:
        if name in numbers and (fields is None or name in fields):
            by_measure = [(pl.col(name).filter(pl.col("measure") == measure), measure) for measure in measures]
            columns += [
                (values if name in by_step else values.first()).alias(f"{name}_{measure}")
                for values, measure in by_measure
            ]
        elif name in by_step and name not in numbers:
            columns.append(pl.col(name).filter(first))
        elif name not in (*numbers, *subject, "measure", "step"):
            columns.append(pl.col(name).first())
    return frame.group_by(subject, maintain_order=True).agg(columns)
