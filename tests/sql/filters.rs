//! `heaplake query` finds what SQL finds on the same conditions.

use crate::shared::{json, sql};
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, answer, diagnostic, heaplake, said};
use serde_json::{Value, json as value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Filters and conditions of SQL that every format has.
const PAIRS: [(&str, &str); 50] = [
    ("", "true"),
    ("retained > 1kB", "retained_bytes > 1000"),
    ("retained >= 1KiB and shallow < 100", "retained_bytes >= 1024 AND shallow_bytes < 100"),
    ("shallow >= 16 and shallow <= 64", "shallow_bytes BETWEEN 16 AND 64"),
    ("self = 0", "self_bytes = 0"),
    ("self_size != 24", "self_bytes <> 24"),
    ("native > 0", "native_bytes > 0"),
    ("native is null", "native_bytes IS NULL"),
    ("retained_native is not null", "retained_native_bytes IS NOT NULL"),
    ("kind = \"string\" or kind = \"class\"", "kind = 'string' OR kind = 'class'"),
    ("kind != \"object\"", "kind <> 'object'"),
    ("type in (\"string\", \"closure\", 'class')", "kind IN ('string', 'closure', 'class')"),
    ("kind not in (\"string\")", "kind NOT IN ('string')"),
    ("not kind = \"string\"", "NOT kind = 'string'"),
    ("kind < \"m\"", "kind < 'm'"),
    ("name is null", "name IS NULL"),
    ("name is not null", "name IS NOT NULL"),
    ("name contains \"a\"", "strpos(name, 'a') > 0"),
    ("name starts with \"s\"", "starts_with(name, 's')"),
    ("name ends with \"e\"", "ends_with(name, 'e')"),
    ("length > 20", "character_length(name) > 20"),
    ("length <= 3", "character_length(name) <= 3"),
    ("class ~ \"^java\\.(lang|util)\"", "class ~ '^java\\.(lang|util)'"),
    ("class ~ \"(?i)map$\"", "class ~ '(?i)map$'"),
    ("class !~ \"[A-Z]\"", "class !~ '[A-Z]'"),
    ("name ~ \"^.{2,5}$\"", "name ~ '^.{2,5}$'"),
    ("distance > 5", "distance > 5"),
    ("distance is null", "distance IS NULL"),
    ("distance in (1, 2, 3)", "distance IN (1, 2, 3)"),
    ("references > 10", "edge_count > 10"),
    ("edges = 0", "edge_count = 0"),
    ("referrers >= 2", "retainer_count >= 2"),
    ("reachable", "reachable"),
    ("not reachable", "NOT reachable"),
    ("weak", "weakly_reachable"),
    ("weak = false", "weakly_reachable = false"),
    ("weak is null", "weakly_reachable IS NULL"),
    ("dominator = 0", "dominator = 0 AND dominator <> node"),
    ("dominator is null", "dominator = node"),
    ("owner is not null", "owner IS NOT NULL"),
    ("owner = \"java.lang\" or not owner = \"java.lang\"", "owner = 'java.lang' OR NOT owner = 'java.lang'"),
    ("package is null", "package IS NULL"),
    ("duplicates is not null and shallow > 20", "duplicate_set IS NOT NULL AND shallow_bytes > 20"),
    ("class_id < 5", "class_id < 5"),
    ("detached", "detachedness = 2"),
    ("not detached", "detachedness = 1"),
    ("node in (1, 5, 100) or id = 0x10", "node IN (1, 5, 100) OR id = 16"),
    ("id > 1_000", "id > 1000"),
    ("not (name = \"a\" or distance > 3)", "NOT (name = 'a' OR distance > 3)"),
    ("not name contains \"a\" or retained > 100", "NOT strpos(name, 'a') > 0 OR retained_bytes > 100"),
];

/// A lake of two runs with all tables, of V8 and of Java, and the runs. Tests only read it.
pub(crate) fn made() -> (PathBuf, PathBuf, PathBuf) {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    let lake = MADE.get_or_init(|| {
        let lake = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sql-filters");
        let _ = fs::remove_dir_all(&lake);
        for (input, name) in [("v8/chromium138_dom.heapsnapshot.zst", "v8"), ("jvm/dupfix.hprof.zst", "java")] {
            let mut command = heaplake();
            command.arg("analyze").arg(fixtures::path(input)).arg("--out").arg(&lake);
            command.args(["--quiet", "--snapshot", name, "--edges", "--values", "--duplicates", "all"]);
            command.assert().success();
        }
        lake
    });
    let run = |name: &str| lake.join("release=none").join(format!("snapshot={name}"));
    (lake.clone(), run("v8"), run("java"))
}

fn rows(lake: &Path, statement: &str) -> Vec<Value> {
    json(&mut sql(lake, &[statement, "--format", "json"]))
}

fn query(run: &Path, words: &[&str]) -> Value {
    answer(heaplake().arg("query").arg(run).args(words).arg("--json"))
}

/// Nodes of a filter, ascending.
fn nodes(run: &Path, filter: &str) -> Vec<u64> {
    let found = query(run, &[filter, "--columns", "node", "--sort", "node", "-n", "1000000"]);
    let nodes: Vec<u64> = found["rows"].as_array().unwrap().iter().map(|row| row["node"].as_u64().unwrap()).collect();
    assert_eq!(found["matching"], value!(nodes.len()), "{filter}");
    nodes
}

fn name(run: &Path) -> String {
    run.file_name().unwrap().to_string_lossy().replace("snapshot=", "")
}

/// Nodes that a condition of SQL finds in a run, ascending.
fn nodes_of_sql(lake: &Path, run: &Path, condition: &str) -> Vec<u64> {
    let statement = format!("SELECT node FROM nodes WHERE snapshot = '{}' AND ({condition}) ORDER BY node", name(run));
    rows(lake, &statement).iter().map(|row| row["node"].as_u64().unwrap()).collect()
}

#[test]
fn counts_and_sums_are_those_of_sql() {
    let (lake, v8, java) = made();
    for run in [&v8, &java] {
        let columns = PAIRS.iter().enumerate().map(|(at, (_, condition))| {
            format!(
                "count(*) FILTER (WHERE {condition}) AS n{at}, sum(shallow_bytes) FILTER (WHERE {condition}) AS b{at}"
            )
        });
        let columns: Vec<String> = columns.collect();
        let statement = format!("SELECT {} FROM nodes WHERE snapshot = '{}'", columns.join(", "), name(run));
        let all = rows(&lake, &statement).remove(0);
        let mut found = 0;
        for (at, (filter, condition)) in PAIRS.iter().enumerate() {
            let ours = query(run, &[filter, "-n", "1"]);
            assert_eq!(ours["matching"], all[format!("n{at}")], "{filter}: {condition}");
            let bytes = &all[format!("b{at}")];
            let bytes = if bytes.is_null() { value!(0) } else { bytes.clone() };
            assert_eq!(ours["matching_shallow_bytes"], bytes, "{filter}: {condition}");
            assert_eq!(ours["of"], all["n0"]);
            found += u32::from(ours["matching"] != 0 && ours["matching"] != ours["of"]);
        }
        assert!(found > 25, "{found} filters find some nodes");
    }
}

#[test]
fn neighbours_are_those_of_sql() {
    let (lake, v8, java) = made();
    let of = |column: &str, other: &str, condition: &str| {
        format!(
            "node IN (SELECT \"{column}\" FROM edges WHERE snapshot = 'S' AND essential AND \"from\" <> \"to\" AND \
             \"{other}\" IN (SELECT node FROM nodes WHERE snapshot = 'S' AND {condition}))"
        )
    };
    let pairs = [
        ("references any (class contains \"tring\")", of("from", "to", "strpos(class, 'tring') > 0")),
        ("references (retained > 10kB) and shallow < 50", of("from", "to", "retained_bytes > 10000") + " AND shallow_bytes < 50"),
        ("referenced by any (class ~ \"Map\")", of("to", "from", "class ~ 'Map'")),
        ("not referenced by (distance < 3)", format!("NOT {}", of("to", "from", "distance < 3"))),
        (
            "dominator.retained > 100kB",
            "dominator <> node AND dominator IN (SELECT node FROM nodes WHERE snapshot = 'S' AND retained_bytes > 100000)".to_owned(),
        ),
        (
            "dominator (class contains \"a\" and dominator.retained > 5kB)",
            "dominator <> node AND dominator IN (SELECT node FROM nodes WHERE snapshot = 'S' AND strpos(class, 'a') > 0 \
             AND dominator <> node AND dominator IN (SELECT node FROM nodes WHERE snapshot = 'S' AND retained_bytes > 5000))"
                .to_owned(),
        ),
    ];
    for run in [&v8, &java] {
        for (filter, condition) in &pairs {
            let condition = condition.replace("'S'", &format!("'{}'", name(run)));
            let expected = nodes_of_sql(&lake, run, &condition);
            assert!(!expected.is_empty(), "{filter}");
            assert_eq!(nodes(run, filter), expected, "{filter}: {condition}");
        }
    }
}

#[test]
fn fields_are_those_of_sql() {
    let (lake, _, java) = made();
    let field = |name: &str, condition: &str| {
        format!(
            "node IN (SELECT node FROM (SELECT node, kind, value, row_number() OVER (PARTITION BY node ORDER BY position) \
             AS place FROM \"values\" WHERE snapshot = 'java' AND name = '{name}') WHERE place = 1 AND {condition})"
        )
    };
    for (filter, condition) in [
        (".hash = 0", field("hash", "value = '0'")),
        (
            ".hash > 100 and class = \"java.lang.String\"",
            field("hash", "CAST(value AS BIGINT) > 100") + " AND class = 'java.lang.String'",
        ),
        // Objects without the field have null too.
        (".next is null and class ~ \"Node$\"", format!("NOT {} AND class ~ 'Node$'", field("next", "kind <> 'null'"))),
        (
            ".value (class = \"byte[]\")",
            "node IN (SELECT \"from\" FROM edges WHERE snapshot = 'java' AND name = 'value' AND \"to\" IN \
             (SELECT node FROM nodes WHERE snapshot = 'java' AND class = 'byte[]'))"
                .to_owned(),
        ),
    ] {
        let expected = nodes_of_sql(&lake, &java, &condition);
        assert!(!expected.is_empty(), "{filter}");
        assert_eq!(nodes(&java, filter), expected, "{filter}: {condition}");
    }
}

#[test]
fn dominators_and_subclasses_are_those_of_a_walk() {
    let (lake, v8, java) = made();
    for run in [&v8, &java] {
        let all = rows(
            &lake,
            &format!("SELECT node, dominator, shallow_bytes FROM nodes WHERE snapshot = '{}' ORDER BY node", name(run)),
        );
        let up: Vec<usize> = all.iter().map(|row| row["dominator"].as_u64().unwrap() as usize).collect();
        let is: Vec<bool> = all.iter().map(|row| row["shallow_bytes"].as_u64().unwrap() > 1000).collect();
        let above = |node: usize| {
            let next = |&at: &usize| Some(up[at]).filter(|&above| above != at);
            std::iter::successors(next(&node), next)
        };
        let below: Vec<u64> =
            (0..all.len()).filter(|&node| above(node).any(|at| is[at])).map(|node| node as u64).collect();
        assert!(!below.is_empty());
        assert_eq!(nodes(run, "dominated by (shallow > 1000)"), below);
        let tops: BTreeSet<u64> =
            (0..all.len()).filter(|&node| is[node]).flat_map(above).map(|node| node as u64).collect();
        assert_eq!(nodes(run, "dominates any (shallow > 1000)"), tops.into_iter().collect::<Vec<_>>());
    }
    let sub = "java.util.AbstractMap";
    let edges = rows(
        &lake,
        "SELECT \"from\", \"to\", kind FROM edges WHERE snapshot = 'java' AND kind IN ('class', 'superclass')",
    );
    let classes = rows(&lake, "SELECT node, name FROM nodes WHERE snapshot = 'java' AND kind = 'class'");
    let mut names: BTreeSet<u64> =
        classes.iter().filter(|row| row["name"] == sub).map(|row| row["node"].as_u64().unwrap()).collect();
    let of_kind = |kind: &str| -> Vec<(u64, u64)> {
        let of = edges.iter().filter(|row| row["kind"] == kind);
        of.map(|row| (row["from"].as_u64().unwrap(), row["to"].as_u64().unwrap())).collect()
    };
    let (supers, instances) = (of_kind("superclass"), of_kind("class"));
    for _ in 0..20 {
        let more: Vec<u64> = supers.iter().filter(|edge| names.contains(&edge.1)).map(|edge| edge.0).collect();
        names.extend(more);
    }
    let expected: BTreeSet<u64> = instances.iter().filter(|edge| names.contains(&edge.1)).map(|edge| edge.0).collect();
    assert!(names.len() > 2 && !expected.is_empty(), "{names:?} {}", expected.len());
    assert_eq!(nodes(&java, &format!("instance of \"{sub}\"")), expected.into_iter().collect::<Vec<_>>());
}

#[test]
fn groups_are_those_of_sql() {
    let (lake, v8, java) = made();
    for run in [&v8, &java] {
        let ours =
            query(run, &["retained > 50 group by class, kind order by sum(retained) desc, class, kind", "-n", "40"]);
        let theirs = rows(
            &lake,
            &format!(
                "SELECT count(*) AS count, CAST(sum(shallow_bytes) AS BIGINT) AS \"sum(shallow)\", \
                 CAST(sum(retained_bytes) AS BIGINT) AS \"sum(retained)\", class, kind FROM nodes \
                 WHERE snapshot = '{}' AND retained_bytes > 50 GROUP BY class, kind \
                 ORDER BY sum(retained_bytes) DESC, class, kind LIMIT 40",
                name(run)
            ),
        );
        assert_eq!(ours["rows"], value!(theirs));
        assert!(ours["notes"][0].as_str().unwrap().contains("overlap"), "{ours}");
        let ours = query(
            run,
            &["group by owner select owner, count, max(retained), min(distance) order by count desc, owner"],
        );
        let theirs = rows(
            &lake,
            &format!(
                "SELECT owner, count(*) AS count, max(retained_bytes) AS \"max(retained)\", min(distance) AS \"min(distance)\" \
                 FROM nodes WHERE snapshot = '{}' GROUP BY owner ORDER BY count(*) DESC, owner NULLS LAST LIMIT 20",
                name(run)
            ),
        );
        assert_eq!(ours["rows"], value!(theirs));
    }
}

#[test]
fn order_and_columns_are_those_of_sql() {
    let (lake, v8, _) = made();
    let ours = query(
        &v8,
        &["kind = \"object\" select node, class, name, distance, owner order by distance desc, class limit 50"],
    );
    let theirs = rows(
        &lake,
        "SELECT node, class, name, distance, owner FROM nodes WHERE snapshot = 'v8' AND kind = 'object' \
         ORDER BY distance DESC NULLS LAST, class, node LIMIT 50",
    );
    assert_eq!(ours["rows"], value!(theirs));
    assert_eq!(ours["rows"].as_array().unwrap().len(), 50);
    let folder = Lake::new();
    let file = folder.folder().join("objects.csv");
    let words = ["kind = \"object\"", "--columns", "node,class,name,retained", "--sort", "node", "--out"];
    let said = said(heaplake().arg("query").arg(&v8).args(words).arg(&file));
    assert!(said.contains("objects that match"), "{said}");
    let other = folder.folder().join("theirs.csv");
    let statement = "SELECT node, class, name, retained_bytes AS retained FROM nodes WHERE snapshot = 'v8' AND kind = 'object' ORDER BY node";
    sql(&lake, &[statement, "--format", "csv"]).arg("--out").arg(&other).assert().success();
    // SQL writes an empty text as it writes null.
    let ours = fs::read_to_string(&file).unwrap().replace(",\"\",", ",,");
    assert_eq!(ours, fs::read_to_string(&other).unwrap());
}

#[test]
fn paths_are_those_of_why() {
    let (_lake, v8, java) = made();
    for run in [&v8, &java] {
        let some = query(run, &["distance > 2 and shallow > 0 order by node limit 4000 select node"]);
        let some = some["rows"].as_array().unwrap().iter().step_by(100).map(|row| row["node"].as_u64().unwrap());
        let some: Vec<u64> = some.collect();
        let list = some.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let shown = query(run, &[&format!("node in ({list}) select node, path order by node"), "-n", "100"]);
        let mut steps: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
        for row in shown["rows"].as_array().unwrap() {
            let node = row["node"].as_u64().unwrap();
            let why = answer(heaplake().arg("why").arg(run).arg(node.to_string()).arg("--json"));
            let path = why["shortest_path"]["steps"].as_array().unwrap();
            let mut text = String::new();
            let mut of_node = BTreeSet::new();
            for step in path {
                if let Some(edge) = step["edge"].as_str() {
                    text += &format!("{edge} → ");
                    of_node.insert(edge.strip_prefix('.').unwrap_or(edge).to_owned());
                } else if !text.is_empty() {
                    text += " → ";
                }
                text += step["class"].as_str().unwrap();
                of_node.insert(step["class"].as_str().unwrap().to_owned());
            }
            if why["shortest_path"]["left_out"] == 0 {
                assert_eq!(row["path"], text, "node {node}");
            }
            steps.insert(node, of_node);
        }
        assert_eq!(steps.len(), some.len());
        let words: BTreeSet<&String> = steps.values().flatten().collect();
        for word in words.into_iter().step_by(9) {
            let filter = format!("path = {word:?} and node in ({list})");
            let expected: Vec<u64> =
                steps.iter().filter(|(_, steps)| steps.contains(word)).map(|(node, _)| *node).collect();
            assert_eq!(nodes(run, &filter), expected, "{filter}");
            let rest: Vec<u64> = some.iter().copied().filter(|node| !expected.contains(node)).collect();
            assert_eq!(nodes(run, &filter.replacen('=', "!=", 1)), rest, "{filter}");
        }
    }
}

#[test]
fn what_a_run_lacks_is_named_with_the_way_to_it() {
    let lake = Lake::new();
    lake.analyze(fixtures::path("v8/s1.heapsnapshot.zst")).args(["--tables", "nodes"]).assert().success();
    let run = lake.run();
    for (filter, words) in [
        ("path contains \"a\"", "--edges"),
        ("references any (node = 1)", "--edges"),
        ("not .a (node = 1)", "--edges"),
        (".a = 1", "--values"),
    ] {
        let (cause, advice) = diagnostic(heaplake().arg("query").arg(&run).arg(filter), 2);
        assert!(cause.contains("table of") && advice.contains(words), "{cause}\n{advice}");
    }
    let (cause, advice) = diagnostic(heaplake().arg("query").arg(&run).arg("clas = \"a\""), 2);
    assert!(cause.contains("column 1 of the filter") && cause.contains("nearest: class"), "{cause}");
    assert!(advice.contains("--help"), "{advice}");
    let (cause, _) = diagnostic(heaplake().arg("query").arg(&run).args(["", "--columns", "clss"]), 2);
    assert!(cause.contains("column 1 of --columns"), "{cause}");
    let (cause, _) = diagnostic(heaplake().arg("query").arg(&run).args(["", "--sort", "retained down"]), 2);
    assert!(cause.contains("column 10 of --sort"), "{cause}");
}
