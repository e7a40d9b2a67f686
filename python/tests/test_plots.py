"""Plots show the numbers of the tables."""

from __future__ import annotations

import math
from statistics import median

import polars as pl
import pytest
from lakes import RELEASES

import heaplake
from heaplake import plots
from heaplake._words import size


def test_growth_shows_medians(shop: heaplake.Lake) -> None:
    figure = plots.growth(shop, classes=3, measure="shallow_bytes")
    rows = pl.concat([pl.read_parquet(run.path / "classes.parquet") for run in shop])
    expected = {}
    for signature in rows["signature"].unique():
        of_class = rows.filter(pl.col("signature") == signature)
        expected[signature] = []
        for release in RELEASES:
            found = of_class.filter(pl.col("release") == release)["shallow_bytes"].to_list()
            expected[signature].append(median(found + [0] * (3 - len(found))))
    most = sorted(expected, key=lambda name: (expected[name][0] - expected[name][-1], name))[:3]
    assert [trace.name for trace in figure.data] == most
    assert any(name.startswith("Session") for name in most), most
    for trace in figure.data:
        assert list(trace.x) == list(RELEASES) and list(trace.y) == expected[trace.name]
    assert figure.layout.xaxis.type == "category", "releases are names, not numbers"


def test_growth_of_chosen_classes_and_releases(shop: heaplake.Lake) -> None:
    figure = plots.growth(shop, classes=["Map", "Session"], measure="count", releases=["2.4.2", "2.4.0"])
    assert sorted(trace.name.split()[0] for trace in figure.data) == ["Map", "Session"]
    assert all(list(trace.x) == ["2.4.2", "2.4.0"] for trace in figure.data)
    sessions = next(trace for trace in figure.data if trace.name.startswith("Session"))
    assert sessions.y[0] > 4000 and sessions.y[1] < 100


def test_runs_without_the_class_count_as_zero(shop: heaplake.Lake, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two of three runs have it, then one of four."""
    folder = tmp_path_factory.mktemp("some")
    from heaplake import samples

    for release, leaks in (("1", ["orders", "orders", None]), ("2", ["orders", None, None, None])):
        for at, leak in enumerate(leaks):
            snapshot = samples.write(folder / release / f"{at}.heapsnapshot", leak=leak, seed=at, size=0.1)
            lake = heaplake.analyze(snapshot, out=folder / "lake", release=release, snapshot=f"{at}")
    counts = [run.frame("classes").filter(pl.col("class") == "Order").collect()["count"].to_list() for run in lake]
    figure = plots.growth(lake, classes=["Order"], measure="count", releases=["1", "2"])
    assert list(figure.data[0].y) == [min(counts[0][0], counts[1][0]), 0]


def test_the_treemap_sums_to_the_heap(shop: heaplake.Lake) -> None:
    run = shop.run("web1", release="2.4.2")
    (trace,) = plots.owner_treemap(run).data
    owners = pl.read_parquet(run.path / "owners.parquet")
    assert list(trace.labels) == ["heap", *owners["owner"]]
    assert list(trace.values) == [0, *owners["retained_bytes"]] and sum(trace.values) == run.heap_bytes
    assert set(trace.parents[1:]) == {trace.ids[0]}
    assert trace.text[0] == size(run.heap_bytes or 0) and trace.text[1] == size(owners["retained_bytes"][0])
    (trace,) = plots.owner_treemap(shop).data
    assert sum(trace.values) == sum(run.heap_bytes or 0 for run in shop)
    assert len(set(trace.ids)) == len(trace.ids) and set(trace.parents) <= {"", *trace.ids}


@pytest.mark.parametrize(("name", "measure"), [("net8", "bytes"), ("net8", "count"), ("tracked", "live_bytes")])
def test_the_flame_graph_is_the_tree_of_calls(everything: heaplake.Lake, name: str, measure: str) -> None:
    run = everything.run(name)
    (trace,) = plots.flame_graph(run, measure=measure, least=0.01).data
    calls = pl.read_parquet(run.path / "allocation_callees.parquet", glob=False)
    total = calls.filter(pl.col("parent").is_null())[f"inclusive_{measure}"].sum()
    shown = calls.filter(pl.col(f"inclusive_{measure}") >= total * 0.01)
    values = dict(zip(trace.ids, trace.values, strict=True))
    values.pop("all", None)
    assert values == {str(node): value for node, value in shown.select("node", f"inclusive_{measure}").iter_rows()}
    parents = dict(zip(trace.ids, trace.parents, strict=True))
    for node, parent in shown.select("node", "parent").iter_rows():
        assert parents[str(node)] == (str(parent) if parent is not None else parents[str(node)])
    # A parent has at least what its callees have together, or plotly draws nothing.
    for id, value in zip(trace.ids, trace.values, strict=True):
        assert sum(v for i, v in zip(trace.ids, trace.values, strict=True) if parents[i] == id) <= value
    assert trace.branchvalues == "total" and len(trace.ids) > 5


def test_the_flame_graph_names_planted_functions(shop: heaplake.Lake) -> None:
    run = shop.run("web1", release="2.4.2")
    (trace,) = plots.flame_graph(run).data
    values = dict(zip(trace.labels, trace.values, strict=True))
    sessions = run.frame("classes").filter(pl.col("class") == "Session").collect()["count"].item()
    # 56 bytes of each session and 400 of its text, two containers of 32 bytes and their tables.
    assert values["openSession"] == sessions * (56 + 400) + 2 * 32 + sessions * 8 + 2 * 16
    assert trace.customdata[list(trace.labels).index("openSession")] == "node_modules/session-store/index.js:52"
    colours = dict(zip(trace.customdata, trace.marker.colors, strict=True))
    assert len(set(colours.values())) > 1, "files have colours of their own"
    assert plots.flame_graph(run, upward=True).data[0].tiling.flip == "y"


def test_names_are_no_markup(everything: heaplake.Lake) -> None:
    assert plots._shown("<b>Map&\n") == "&lt;b&gt;Map&amp;\\n"
    for figure in (plots.owner_treemap(everything), plots.growth(everything, classes=50)):
        assert figure.to_json()


def test_what_cannot_be_shown_is_said(everything: heaplake.Lake, shop: heaplake.Lake) -> None:
    java = everything.run("java")
    with pytest.raises(ValueError, match="java has no calls: the input has no allocation stacks"):
        plots.flame_graph(java)
    with pytest.raises(ValueError, match="does not tell live_bytes"):
        plots.flame_graph(everything.run("net8"), measure="live_bytes")
    with pytest.raises(ValueError, match="no run has the table owners"):
        plots.owner_treemap(heaplake.Lake(everything.path, []))
    with pytest.raises(ValueError, match="no run has the table classes"):
        plots.growth(shop, releases=["9"])
    assert not math.isnan(sum(plots.growth(everything, releases=["0", "1", "2"]).data[0].y))
