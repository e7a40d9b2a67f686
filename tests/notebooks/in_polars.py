"""The five analyses in polars: prints their rows as JSON."""

import json

import polars as pl


def table(name):
    return pl.scan_parquet(f"lake/*/*/{name}.parquet")


def rows(frame):
    return frame.collect().rows()


def top_classes():
    by_class = table("classes").group_by("class").agg(pl.col("retained_bytes", "count").sum())
    return rows(by_class.sort(["retained_bytes", "class"], descending=[True, False]).head(10))


def growth():
    by_class = table("classes").group_by("release", "class").agg(pl.col("retained_bytes").sum())
    old = by_class.filter(pl.col("release") == "1.4")
    new = by_class.filter(pl.col("release") == "2024-01-01")
    both = new.join(old, on="class", suffix="_old")
    grown = both.select("class", growth=pl.col("retained_bytes") - pl.col("retained_bytes_old"))
    return rows(grown.sort(["growth", "class"]))


def owner_shares():
    share = pl.col("retained_bytes") / pl.col("retained_bytes").sum().over("release")
    shares = table("owners").select("release", "owner", share=share)
    return [(release, owner, f"{share:.6f}") for release, owner, share in rows(shares.sort("release", "owner"))]


def chains():
    of_class = table("chains").filter((pl.col("class") == "Array") & (pl.col("kind") == "reference"))
    return rows(of_class.sort("release", "chain").select("release", "text", "count", "retained_bytes"))


def duplicates():
    certain = table("duplicate_sets").filter((pl.col("status") == "exact") & pl.col("held_by").is_null())
    by_class = certain.group_by("release", "class").agg(pl.len(), pl.col("additional_bytes").sum())
    return rows(by_class.sort("release", "class"))


analyses = [top_classes, growth, owner_shares, chains, duplicates]
print(json.dumps({analysis.__name__: analysis() for analysis in analyses}))
