"""Questions to runs and lakes, as frames."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from lakes import HOSTS, RELEASES
from polars.testing import assert_frame_equal

import heaplake
from heaplake import samples


def culprit(run: heaplake.Run) -> dict[str, object]:
    """The map of sessions, which the first finding names."""
    finding = run.findings().row(0, named=True)
    assert finding["rule"] == "leak-suspect" and "Shop.sessions" in finding["message"]
    return finding


def test_findings_are_those_of_the_table(shop: heaplake.Lake) -> None:
    run = shop.run("web1", release="2.4.2")
    stored = pl.read_parquet(run.path / "findings.parquet").drop("release", "snapshot")
    assert_frame_equal(run.findings(), stored)


def test_top_is_the_largest_of_the_table(shop: heaplake.Lake) -> None:
    run = shop.run("web2", release="2.4.2")
    nodes = pl.read_parquet(run.path / "nodes.parquet")
    top = run.top(30)
    # Roots are no objects of the program.
    largest = nodes.filter(pl.col("kind") != "synthetic").sort("retained_bytes", descending=True).head(30)
    assert top["retained_bytes"].to_list() == largest["retained_bytes"].to_list()
    alike = top.select("node", "id", "class", "shallow_bytes", "retained_bytes", "distance")
    assert_frame_equal(alike, nodes.select(alike.columns).join(top.select("node"), on="node"), check_row_order=False)
    sessions = run.top(1, classes=["Ma*", "Sess*"])
    assert (
        sessions["class"].to_list() == ["Map"] and run.top(4, classes="Session")["class"].to_list() == ["Session"] * 4
    )
    assert sessions["dominators"].to_list() == [["(synthetic)", "global", "Shop"]]


def test_why_is_a_path_of_edges(shop: heaplake.Lake) -> None:
    run = shop.run("web1", release="2.4.1")
    node = culprit(run)["node"]
    why = run.why(node)  # type: ignore[arg-type]
    path = why.filter(relation="path")
    assert path["class"].to_list() == ["global", "Shop", "Map"] and path["edge"].to_list() == [
        None,
        ".shop",
        ".sessions",
    ]
    edges = run.frame("edges").collect()
    for start, end in pairwise(path["node"]):
        assert edges.filter(pl.col("from") == start, pl.col("to") == end, pl.col("essential")).height == 1
    nodes = run.frame("nodes").collect()
    up = why.filter(relation="dominators").sort("step", descending=True)["node"].to_list()
    for below, above in pairwise(up):
        assert nodes.row(by_predicate=pl.col("node") == below, named=True)["dominator"] == above
    by_id = run.why(f"@{path['id'][-1]}", paths=3)
    assert by_id.filter(relation="path", path=0)["node"].to_list() == path["node"].to_list()
    assert why.schema["id"] == pl.UInt64 and why.schema["retained_bytes"] == pl.Int64


def test_long_paths_have_a_gap(tmp_path: Path) -> None:
    """Of a long list the middle is left out; the numbers of the steps say so."""
    heap = samples._Heap()
    root, world = heap.node("synthetic", "", 0), heap.node("object", "global", 40)
    heap.edge(root, "shortcut", 1, world)
    last = world
    for _ in range(500):
        last, above = heap.node("object", "Link", 32), last
        heap.edge(above, "property", "next", last)
    (tmp_path / "list.heapsnapshot").write_text(heap.said(tracked=False))
    run = heaplake.analyze(tmp_path / "list.heapsnapshot", out=tmp_path / "lake").runs[0]
    path = run.why(last).filter(relation="path")
    assert path["step"][-1] == 500 and path.height < 500
    assert path["distance"].to_list() == [step + 1 for step in path["step"]]


def test_dominators_are_the_tree(shop: heaplake.Lake) -> None:
    run = shop.run("web3", release="2.4.2")
    tree = run.dominators(depth=4, children=5)
    nodes = run.frame("nodes").select("node", "dominator", "retained_bytes").collect()
    joined = tree.join(nodes, on="node", suffix="_there")
    assert joined["retained_bytes"].to_list() == joined["retained_bytes_there"].to_list()
    inner = joined.filter(pl.col("depth") > 0)
    assert inner["parent"].to_list() == inner["dominator"].to_list() and inner.height > 10
    assert tree["depth"][0] == 0 and tree["depth"].max() == 4
    shop_node = nodes.filter(pl.col("node") == culprit(run)["node"])["dominator"].item()
    below = nodes.filter(pl.col("dominator") == shop_node).sort("retained_bytes", descending=True)
    branch = run.dominators(shop_node, depth=1, children=2)
    assert branch["retained_bytes"][1:].to_list() == below["retained_bytes"][:2].to_list()
    assert branch["others"][0] == below.height - 2
    assert branch["others_retained_bytes"][0] == below["retained_bytes"][2:].sum()


def test_a_comparison_names_what_grew(shop: heaplake.Lake, tmp_path: Path) -> None:
    diff = shop.diff("release=2.4.0", "release=2.4.2", out=tmp_path / "diff")
    classes = diff.frame("classes").collect()
    grew = classes.sort("delta_retained_bytes", descending=True, nulls_last=True)
    session = grew.row(by_predicate=pl.col("class") == "Session", named=True)
    medians = []
    for release in ("2.4.0", "2.4.2"):
        of_release = shop.select(release=release).frame("classes").filter(pl.col("class") == "Session")
        medians.append(of_release.select(pl.col("retained_bytes").median()).collect().item())
    assert (session["base_retained_bytes"], session["target_retained_bytes"]) == tuple(medians)
    assert session["delta_retained_bytes"] == medians[1] - medians[0] > 1_000_000
    assert_frame_equal(classes, pl.read_parquet(tmp_path / "diff/diff_classes.parquet"))
    assert "classes" in diff.tables and "lifetimes" not in diff.tables
    assert_frame_equal(diff.frame("diff_classes").collect(), classes)
    assert len(diff.pandas("classes")) == classes.height
    with pytest.raises(KeyError, match="no table 'clases'; the nearest: classes"):
        diff.frame("clases")


def test_runs_are_compared_and_the_folder_goes(shop: heaplake.Lake) -> None:
    base, target = (shop.run("web1", release=release) for release in ("2.4.1", "2.4.2"))
    diff = shop.diff(base, target)
    folder = diff.folder
    session = diff.frame("classes").filter(pl.col("class") == "Session").collect()
    assert session["status"].to_list() == ["grew"]
    delta = diff.frame("owners").select(pl.col("delta_retained_bytes").sum()).collect().item()
    assert delta == target.heap_bytes - base.heap_bytes  # type: ignore[operator]
    assert folder.is_dir()
    frame = diff.frame("classes")
    del diff
    assert not folder.exists()
    assert frame.filter(pl.col("class") == "Session").collect().height == 1, "the frame stays"


def test_a_series_says_since_when(shop: heaplake.Lake) -> None:
    trend = shop.trend(*[f"release={release}" for release in RELEASES])
    classes = trend.frame("classes").filter(pl.col("class") == "Session").collect()
    assert classes.height == 1 and classes["shape"][0] == "growing"
    assert len(trend.said["steps"]) == 3


def test_a_rollup_has_clusters(shop: heaplake.Lake) -> None:
    rollup = shop.rollup()
    clusters = rollup.clusters()
    assert clusters.height == 1
    cluster = clusters.row(0, named=True)
    assert "Shop.sessions" in cluster["signature"] and cluster["hosts"] == list(HOSTS)
    assert cluster["first_seen"].day == 22 and cluster["last_seen"].day == 23
    rows = rollup.frame("classes").filter(pl.col("signature").str.contains("Session")).sort("release").collect()
    for row in rows.iter_rows(named=True):
        of_release = shop.select(release=row["release"]).frame("classes").filter(pl.col("class") == "Session").collect()
        assert row["max_retained_bytes"] == of_release["retained_bytes"].max()
        assert row["sum_retained_bytes"] == of_release["retained_bytes"].sum()
        assert (row["runs_with"], row["hosts_with"]) == (3, 3)
    assert rows.height == 3
    by_region = shop.rollup(by=("release", "label.region"))
    assert len(by_region.said["groups"]) == 6


def test_an_empty_rollup_has_typed_clusters(tmp_path: Path) -> None:
    lake = heaplake.analyze(samples.write(tmp_path / "a.heapsnapshot"), out=tmp_path / "lake")
    clusters = lake.rollup().clusters()
    assert clusters.is_empty() and clusters.schema["hosts"] == pl.List(pl.String)
