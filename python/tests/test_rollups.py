"""Rollups are what polars computes from the runs' own tables, row by row."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import heaplake

MEASURES = ("retained_bytes", "shallow_bytes", "count")


def _quantile(measure: str, name: str, percent: int) -> pl.Expr:
    """Type 7 in whole numbers: linear between neighbours, halves away from zero (no value is negative)."""
    values, last = pl.col(measure).sort(), pl.len().cast(pl.Int64) - 1
    place, part = last * percent // 100, last * percent % 100
    low, high = values.get(place), values.get(pl.min_horizontal(place + 1, last))
    return (low + ((high - low) * part * 2 + 100) // 200).alias(f"{name}_{measure}")


def _computed(lake: heaplake.Lake, by: list[str]) -> pl.DataFrame:
    runs = lake.frame("runs").select(
        "release",
        "snapshot",
        "captured_at",
        pl.col("labels").map.get("host").alias("host"),
        pl.col("labels").map.get("region").alias("region"),
    )
    classes = lake.frame("classes").select("release", "snapshot", "fingerprint", *MEASURES)
    summed = classes.group_by("release", "snapshot", "fingerprint").agg(pl.col(MEASURES).sum())
    prints = summed.join(runs, on=["release", "snapshot"]).select(*by, "fingerprint").unique()
    # A run without the row has nothing of it.
    every = runs.join(prints, on=by).join(summed, on=["release", "snapshot", "fingerprint"], how="left")
    has = pl.col("count").is_not_null()
    amounts = []
    for measure in MEASURES:
        value = pl.col(measure)
        amounts += [value.sum().alias(f"sum_{measure}"), value.min().alias(f"min_{measure}")]
        amounts += [_quantile(measure, *of) for of in (("median", 50), ("p90", 90), ("p99", 99))]
        mean = (value.sum() * 2 + pl.len()) // (pl.len() * 2)
        amounts += [value.max().alias(f"max_{measure}"), mean.cast(pl.Int64).alias(f"mean_{measure}")]
    filled = every.with_columns(has.alias("has"), pl.col(MEASURES).fill_null(0))
    of_rows = filled.group_by(*by, "fingerprint").agg(
        pl.len().cast(pl.Int64).alias("runs"),
        pl.col("has").sum().cast(pl.Int64).alias("runs_with"),
        pl.col("host").n_unique().cast(pl.Int64).alias("hosts"),
        pl.col("host").filter("has").n_unique().cast(pl.Int64).alias("hosts_with"),
        pl.col("captured_at").filter("has").min().alias("first_seen"),
        pl.col("captured_at").filter("has").max().alias("last_seen"),
        *amounts,
    )
    return of_rows.sort(*by, "fingerprint").collect()


@pytest.mark.parametrize("by", [["release"], ["region"], ["release", "region"]])
def test_classes_are_summed_up_as_polars_does(by: list[str], shop: heaplake.Lake) -> None:
    computed = _computed(shop, by)
    rollup = shop.rollup(by=[key if key == "release" else f"label.{key}" for key in by])
    rows = rollup.wide("classes").collect()
    if "region" in by:
        rows = rows.with_columns(pl.col("labels").map.get("region").alias("region"))
    rows = rows.select(pl.col(name).cast(kind) for name, kind in computed.schema.items()).sort(*by, "fingerprint")
    assert len(rows) > 20
    assert_frame_equal(rows, computed)


def test_some_runs_are_summed_up(shop: heaplake.Lake) -> None:
    first = shop.runs[0]
    some = shop.rollup(release=first.release, labels={"host": [first.labels["host"], "none*"]})
    runs = [run["path"] for group in some.said["groups"] for run in group["runs"]]
    chosen = [run for run in shop.runs if (run.release, run.labels["host"]) == (first.release, first.labels["host"])]
    assert len(runs) == len(chosen) > 0
    assert some.said["conditions"] == {
        "releases": [first.release],
        "labels": [f"host={first.labels['host']}", "host=none*"],
    }
    with pytest.raises(heaplake.UsageError):
        shop.rollup(since="yesterday")
    assert {"is_new", "hosts_come", "hosts_gone"} <= set(shop.rollup().clusters().columns)
