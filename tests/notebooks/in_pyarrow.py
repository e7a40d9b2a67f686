"""The five analyses in pyarrow: prints their rows as JSON."""

import json
from glob import glob

import pyarrow.compute as pc
import pyarrow.dataset as ds


def table(name):
    return ds.dataset(glob(f"lake/*/*/{name}.parquet")).to_table()


def rows(found, columns):
    return [list(row.values()) for row in found.select(columns).to_pylist()]


def top_classes():
    by_class = table("classes").group_by("class").aggregate([("retained_bytes", "sum"), ("count", "sum")])
    ordered = by_class.sort_by([("retained_bytes_sum", "descending"), ("class", "ascending")])
    return rows(ordered.slice(0, 10), ["class", "retained_bytes_sum", "count_sum"])


def growth():
    by_class = table("classes").group_by(["release", "class"]).aggregate([("retained_bytes", "sum")])
    old = by_class.filter(pc.field("release") == "1.4").drop_columns("release")
    new = by_class.filter(pc.field("release") == "2024-01-01")
    both = new.join(old, "class", right_suffix="_old", join_type="inner")
    change = pc.subtract(both["retained_bytes_sum"], both["retained_bytes_sum_old"])
    ordered = both.append_column("growth", change).sort_by([("growth", "ascending"), ("class", "ascending")])
    return rows(ordered, ["class", "growth"])


def owner_shares():
    owners = table("owners").sort_by([("release", "ascending"), ("owner", "ascending")])
    totals = dict(rows(owners.group_by("release").aggregate([("retained_bytes", "sum")]), ["release", "retained_bytes_sum"]))
    shares = rows(owners, ["release", "owner", "retained_bytes"])
    return [(release, owner, f"{retained / totals[release]:.6f}") for release, owner, retained in shares]


def chains():
    of_class = table("chains").filter((pc.field("class") == "Array") & (pc.field("kind") == "reference"))
    ordered = of_class.sort_by([("release", "ascending"), ("chain", "ascending")])
    return rows(ordered, ["release", "text", "count", "retained_bytes"])


def duplicates():
    certain = table("duplicate_sets").filter((pc.field("status") == "exact") & pc.field("held_by").is_null())
    sums = [("additional_bytes", "count"), ("additional_bytes", "sum")]
    by_class = certain.group_by(["release", "class"]).aggregate(sums)
    ordered = by_class.sort_by([("release", "ascending"), ("class", "ascending")])
    return rows(ordered, ["release", "class", "additional_bytes_count", "additional_bytes_sum"])


analyses = [top_classes, growth, owner_shares, chains, duplicates]
print(json.dumps({analysis.__name__: analysis() for analysis in analyses}))
