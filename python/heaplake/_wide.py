"""Tables in long form as wide ones: a row per subject, with a column for each number of each measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: Columns that say something of the measure of a row. The others are the same in all rows of a subject.
OF_MEASURE = (
    *(f"{side}{name}" for side in ("base_", "target_", "") for name in ("sum", "mean", "median", "p90", "max")),
    *("min", "p99", "delta_sum", "delta_sum_low", "delta_sum_high", "percent_sum", "delta_mean", "delta_median"),
    *("percent_median", "shift", "shift_low", "shift_high", "p_shift", "p_presence", "p_tail", "p_paired", "p", "q"),
    *(
        "pairs",
        "smallest_effect",
        "smallest_effect_on_tenth",
        "shape",
        "slope",
        "slope_low",
        "slope_high",
        "first_growth",
    ),
)

#: Columns of series that say something of a step.
OF_STEP = ("runs", "runs_with", "hosts", "hosts_with", "sum", "mean", "median", "p90", "max")

#: What tells subjects apart; of rollups the columns of the group, too.
_SUBJECT = ("format", "release", "labels", "fingerprint")


def wide(frame: pl.LazyFrame, measures: Sequence[str], fields: Sequence[str] | None = None) -> pl.LazyFrame:
    """A row per subject, in the order of its first row. Numbers of series are lists, by step."""
    import polars as pl

    names = frame.collect_schema().names()
    by_step = OF_STEP if "step" in names else ()
    subject = [name for name in _SUBJECT if name in names]
    first = pl.col("measure") == pl.col("measure").first()
    columns = []
    for name in names:
        if name in OF_MEASURE and (fields is None or name in fields):
            of_measure = [(pl.col(name).filter(pl.col("measure") == measure), measure) for measure in measures]
            columns += [
                (values if name in by_step else values.first()).alias(f"{name}_{measure}")
                for values, measure in of_measure
            ]
        elif name in by_step and name not in OF_MEASURE:
            columns.append(pl.col(name).filter(first))
        elif name not in (*OF_MEASURE, *subject, "measure", "step"):
            columns.append(pl.col(name).first())
    return frame.group_by(subject, maintain_order=True).agg(columns)
