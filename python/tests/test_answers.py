"""Questions to runs and lakes, as frames."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from lakes import HOSTS, RELEASES
from polars.testing import assert_frame_equal, assert_series_equal

import heaplake
from heaplake import _tables, _wide, samples


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


def test_objects_are_those_of_the_table(shop: heaplake.Lake) -> None:
    run = shop.run("web2", release="2.4.2")
    nodes = pl.read_parquet(run.path / "nodes.parquet")
    found = run.objects('class = "Session" and retained > 100 select node, id, class, retained, reachable order by node')
    expected = nodes.filter(pl.col("class") == "Session", pl.col("retained_bytes") > 100).sort("node")
    expected = expected.select(
        pl.col("node").cast(pl.Int64), "id", "class", pl.col("retained_bytes").alias("retained"), "reachable"
    )
    assert found.height > 3
    assert_frame_equal(found, expected.head(1000))
    groups = run.objects("group by class order by count desc", 5)
    counts = nodes.group_by("class").len().sort("len", "class", descending=[True, False]).head(5)
    assert groups["count"].to_list() == counts["len"].to_list() and groups["class"].to_list() == counts["class"].to_list()
    with pytest.raises(heaplake.UsageError, match="column 1 of the filter"):
        run.objects("clas = 1")


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
    session = classes.row(
        by_predicate=pl.col("class").eq("Session") & pl.col("measure").eq("retained_bytes"), named=True
    )
    for side, release in (("base", "2.4.0"), ("target", "2.4.2")):
        of_release = shop.select(release=release).frame("classes").filter(pl.col("class") == "Session").collect()
        retained = of_release["retained_bytes"]
        assert (session[f"{side}_sum"], session[f"{side}_median"]) == (retained.sum(), retained.median())
    assert session["delta_sum"] == session["target_sum"] - session["base_sum"] > 1_000_000
    assert (session["status"], session["evidence"], session["q"]) == ("grew", "separation", None)
    assert session["changed_on"] == session["target_hosts"] == 3
    assert sorted(session["changed_on_names"].split(", ")) == list(HOSTS)
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
    assert set(session["status"]) == {"grew"} and set(session["evidence"]) == {"difference"}
    owners = diff.frame("owners").filter(measure="retained_bytes")
    delta = owners.select(pl.col("delta_sum").sum()).collect().item()
    assert delta == target.heap_bytes - base.heap_bytes  # type: ignore[operator]
    assert folder.is_dir()
    frame = diff.frame("classes")
    del diff
    assert not folder.exists()
    assert frame.filter(pl.col("class") == "Session").collect().height == session.height, "the frame stays"


def test_wide_tables_have_the_numbers_of_long_ones(shop: heaplake.Lake) -> None:
    diff, rollup = shop.diff("release=2.4.0", "release=2.4.2"), shop.rollup(by=["release", "label.region"])
    for answer in (diff, rollup):
        for name in answer.tables:
            table, long = answer._table(name), answer.frame(name).collect()
            if not table.measures:
                continue
            wide = answer.wide(name).collect()
            assert wide.height * len(table.measures) == long.height
            for at, measure in enumerate(table.measures):
                of_measure = long.gather_every(len(table.measures), at)
                assert set(of_measure["measure"]) <= {measure}
                assert wide["fingerprint"].to_list() == of_measure["fingerprint"].to_list()
                for column in table.columns:
                    if column.name in _tables.of_measure() - _wide._OF_SUBJECT:
                        assert_series_equal(
                            wide[f"{column.name}_{measure}"], of_measure[column.name], check_names=False
                        )
                    elif column.name != "measure":
                        assert_series_equal(wide[column.name], of_measure[column.name])
    some = diff.wide("classes", measures=["count"], fields=["delta_sum"]).collect()
    assert [name for name in some.columns if name.endswith("_count")] == ["delta_sum_count"]
    chosen = diff.frame("classes").filter(measure="count", status="grew")
    assert_frame_equal(
        heaplake.wide(chosen, fields=["delta_sum"]).select("fingerprint", "delta_sum_count").collect(),
        some.filter(status="grew").select("fingerprint", "delta_sum_count"),
    )


def test_gates_are_answers(shop: heaplake.Lake, tmp_path: Path) -> None:
    gates = tmp_path / "gates.toml"
    gates.write_text(
        '[[gate]]\nname = "sessions"\nfail_if = \'class = "Session" and status = "grew"\'\nmessage = "look"\n'
    )
    conditions = ["retained_bytes.delta > 1GiB", "retained_bytes.delta > 0 and q < 0.05"]
    diff = shop.diff("release=2.4.0", "release=2.4.2", fail_if=conditions, gates=gates)
    assert [(gate.name, gate.outcome) for gate in diff.gates if gate.name == "sessions"] == [("sessions", "failed")]
    by_expression = {gate.expression: gate for gate in diff.gates}
    assert by_expression[conditions[0]].passed and by_expression[conditions[1]].outcome == "undecided"
    (sessions,) = (gate for gate in diff.gates if gate.name == "sessions")
    (found,) = sessions.found
    assert (found.subject, found.status, found.measure) == ("Session", "grew", "retained_bytes")
    assert found.percent is not None and found.percent > 1_000 and sessions.failing == 1
    assert not diff.passed
    with pytest.raises(heaplake.GateError, match="sessions: failed") as raised:
        diff.check()
    assert raised.value.exit_code == 4
    easy = shop.diff("release=2.4.0", "release=2.4.2", fail_if=conditions, undecided="pass", pair=None)
    assert easy.passed and easy.check() is easy
    assert shop.diff("release=2.4.0", "release=2.4.2").check().gates == ()
    with pytest.raises(heaplake.UsageError, match="no column"):
        shop.diff("release=2.4.0", "release=2.4.2", fail_if="retained_byte.delta > 0")


def test_answers_of_older_versions_say_so(tmp_path: Path) -> None:
    (tmp_path / "diff.json").write_text('{"heaplake_version": "0.1.0", "schema_version": 3}')
    with pytest.raises(heaplake.InputError, match="made by heaplake 0.1.0, with tables of version 3"):
        heaplake.Diff(tmp_path)


def test_a_series_says_since_when(shop: heaplake.Lake) -> None:
    trend = shop.trend(*[f"release={release}" for release in RELEASES])
    classes = trend.frame("classes").filter(pl.col("class") == "Session", measure="retained_bytes").collect()
    assert classes["step"].to_list() == [0, 1, 2] and set(classes["shape"]) == {"growing"}
    assert len(trend.said["steps"]) == 3
    (wide,) = trend.wide("classes").filter(pl.col("class") == "Session").collect().iter_rows(named=True)
    assert wide["median_retained_bytes"] == classes["median"].to_list() and wide["runs"] == [3, 3, 3]
    assert (wide["shape_retained_bytes"], wide["grown_on"]) == ("growing", 3)


def test_a_rollup_has_clusters(shop: heaplake.Lake) -> None:
    rollup = shop.rollup()
    clusters = rollup.clusters()
    assert clusters.height == 1
    cluster = clusters.row(0, named=True)
    assert "Shop.sessions" in cluster["signature"] and cluster["hosts"] == list(HOSTS)
    assert cluster["first_seen"].day == 22 and cluster["last_seen"].day == 23
    rows = rollup.frame("classes").filter(pl.col("signature").str.contains("Session"), measure="retained_bytes")
    for row in rows.collect().iter_rows(named=True):
        of_release = shop.select(release=row["release"]).frame("classes").filter(pl.col("class") == "Session").collect()
        retained = of_release["retained_bytes"]
        assert (row["max"], row["sum"], row["median"]) == (retained.max(), retained.sum(), retained.median())
        assert (row["runs_with"], row["hosts_with"]) == (3, 3)
    assert rows.collect().height == 3
    by_region = shop.rollup(by=("release", "label.region"))
    assert len(by_region.said["groups"]) == 6


def test_an_empty_rollup_has_typed_clusters(tmp_path: Path) -> None:
    lake = heaplake.analyze(samples.write(tmp_path / "a.heapsnapshot"), out=tmp_path / "lake")
    clusters = lake.rollup().clusters()
    assert clusters.is_empty() and clusters.schema["hosts"] == pl.List(pl.String)
