"""The five analyses in pandas: prints their rows as JSON."""

import json
from glob import glob

import pandas as pd


def table(name):
    return pd.read_parquet(glob(f"lake/*/*/{name}.parquet"), partitioning=None)


def rows(frame):
    return frame.values.tolist()


def top_classes():
    by_class = table("classes").groupby("class", as_index=False)[["retained_bytes", "count"]].sum()
    return rows(by_class.sort_values(["retained_bytes", "class"], ascending=[False, True]).head(10))


def growth():
    by_class = table("classes").groupby(["release", "class"], as_index=False)["retained_bytes"].sum()
    old = by_class[by_class["release"] == "1.4"]
    new = by_class[by_class["release"] == "2024-01-01"]
    both = new.merge(old, on="class", suffixes=("", "_old"))
    both["growth"] = both["retained_bytes"] - both["retained_bytes_old"]
    return rows(both.sort_values(["growth", "class"])[["class", "growth"]])


def owner_shares():
    owners = table("owners")
    owners["share"] = owners["retained_bytes"] / owners.groupby("release")["retained_bytes"].transform("sum")
    shares = owners.sort_values(["release", "owner"])[["release", "owner", "share"]]
    return [(release, owner, f"{share:.6f}") for release, owner, share in rows(shares)]


def chains():
    all_chains = table("chains")
    of_class = all_chains[(all_chains["class"] == "Array") & (all_chains["kind"] == "reference")]
    return rows(of_class.sort_values(["release", "chain"])[["release", "text", "count", "retained_bytes"]])


def duplicates():
    sets = table("duplicate_sets")
    certain = sets[(sets["status"] == "exact") & sets["held_by"].isna()]
    by_class = certain.groupby(["release", "class"], as_index=False).agg(
        sets=("additional_bytes", "size"), bytes=("additional_bytes", "sum")
    )
    return rows(by_class.sort_values(["release", "class"]))


analyses = [top_classes, growth, owner_shares, chains, duplicates]
print(json.dumps({analysis.__name__: analysis() for analysis in analyses}))
