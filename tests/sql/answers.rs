//! Views over all runs: rows, columns of the run, pruning.

use crate::shared::{FLEET, fleet, one, rows, sql};
use heaplake_schemas::tables;
use heaplake_support::lake::diagnostic;
use heaplake_support::table::Table;
use serde_json::json;
use std::fs;

#[test]
fn every_table_is_a_view_over_all_runs() {
    let lake = fleet();
    let of_runs = || tables::ALL.iter().filter(|table| table.runs.have_it());
    // Once by the counts in run.json, once by reading a column of the files.
    let counts = |condition: &str| {
        let count = |name: &str| format!("SELECT '{name}' AS name, count(*) AS n FROM {name} {condition}");
        let all: Vec<String> = of_runs().map(|table| count(table.name)).collect();
        rows(&lake, &all.join(" UNION ALL "))
    };
    for counted in [counts(""), counts("WHERE release || snapshot <> ''")] {
        assert_eq!(counted.len(), of_runs().count());
        for table in of_runs() {
            let files = lake.runs().into_iter().filter(|run| run.join(table.file).exists());
            let expected: usize = files.map(|run| Table::read(&run, table.file).rows()).sum();
            assert!(counted.contains(&json!({ "name": table.name, "n": expected })), "{}: {counted:?}", table.name);
        }
    }
}

#[test]
fn views_begin_with_the_columns_of_the_run() {
    let lake = fleet();
    for view in ["classes", "duplicate_members", "snapshot", "findings", "runs"] {
        let columns = rows(&lake, &format!("DESCRIBE {view}"));
        let names: Vec<&str> = columns.iter().take(4).map(|row| row["column_name"].as_str().unwrap()).collect();
        assert_eq!(names, ["release", "snapshot", "captured_at", "labels"], "{view}");
    }
}

#[test]
fn sums_are_those_of_the_tables() {
    let lake = fleet();
    let answered = rows(
        &lake,
        "SELECT release, snapshot, labels['host'] AS host, sum(shallow_bytes) AS bytes FROM classes \
         GROUP BY release, snapshot, host ORDER BY release, snapshot",
    );
    let expected: Vec<_> = lake
        .runs()
        .iter()
        .zip(FLEET)
        .enumerate()
        .map(|(at, (run, (release, host, _)))| {
            let bytes: i64 = Table::read(run, "classes.parquet").i64s("shallow_bytes").into_iter().flatten().sum();
            json!({"release": release, "snapshot": format!("run{at}"), "host": host, "bytes": bytes})
        })
        .collect();
    assert_eq!(answered, expected);
}

#[test]
fn views_join_within_a_run() {
    let lake = fleet();
    let wrong = "SELECT count(*) FROM nodes JOIN classes USING (release, snapshot, class_id) WHERE nodes.class <> classes.class";
    assert_eq!(one(&lake, wrong), json!(0));
    let joined = "SELECT count(*) FROM nodes JOIN classes USING (release, snapshot, class_id)";
    let listed = "SELECT count(*) FROM nodes WHERE class_id IN (SELECT class_id FROM classes WHERE classes.snapshot = nodes.snapshot)";
    assert_eq!(one(&lake, joined), one(&lake, listed));
}

/// Files excluded by a condition on the run are not opened: they may be missing.
#[test]
fn conditions_on_the_run_choose_files() {
    let lake = fleet();
    for run in lake.runs().iter().skip(1) {
        fs::remove_file(run.join("classes.parquet")).unwrap();
    }
    let count = Table::read(&lake.runs()[0], "classes.parquet").rows();
    for condition in [
        "snapshot = 'run0'",
        "release = '1.0' AND labels['host'] = 'web1'",
        "release < '1.1' AND snapshot IN ('run0', 'run7')",
        "snapshot LIKE '%0' AND captured_at > TIMESTAMP '2000-01-01'",
    ] {
        assert_eq!(
            one(&lake, &format!("SELECT count(class) FROM classes WHERE {condition}")),
            json!(count),
            "{condition}"
        );
    }
    let (cause, advice) = diagnostic(&mut sql(&lake.path(), &["SELECT sum(count) FROM classes"]), 1);
    assert!(cause.contains("classes.parquet"), "{cause}");
    assert!(advice.contains("heaplake lake verify"), "{advice}");
}

#[test]
fn runs_have_a_view_of_their_own() {
    let lake = fleet();
    let answered = rows(&lake, "SELECT snapshot, node_count, path FROM runs ORDER BY snapshot");
    assert_eq!(answered.len(), FLEET.len());
    for (row, run) in answered.iter().zip(lake.runs()) {
        let nodes = Table::read(&run, "nodes.parquet").rows();
        assert_eq!(row["node_count"], json!(nodes));
        assert!(row["path"].as_str().unwrap().ends_with(run.strip_prefix(lake.path()).unwrap().to_str().unwrap()));
    }
    let findings = "SELECT sum(high_findings) + sum(medium_findings) + sum(low_findings) FROM runs";
    let all = "SELECT count(*) FROM findings";
    assert_eq!(one(&lake, findings), one(&lake, all));
}

#[test]
fn a_damaged_run_is_left_out_and_said() {
    let lake = fleet();
    fs::write(lake.runs()[2].join("run.json"), "{").unwrap();
    let output = sql(&lake.path(), &["SELECT count(*) AS n FROM runs", "--format", "json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "[\n{\"n\":3}\n]\n");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("snapshot=run2") && said.contains("left out"), "{said}");
}

#[test]
fn a_file_of_another_size_is_refused() {
    let lake = fleet();
    let path = lake.runs()[1].join("owners.parquet");
    let mut bytes = fs::read(&path).unwrap();
    bytes.push(0);
    fs::write(&path, bytes).unwrap();
    let (cause, _) = diagnostic(&mut sql(&lake.path(), &["SELECT * FROM owners"]), 1);
    assert!(cause.contains("owners.parquet") && cause.contains("expected") && cause.contains("found"), "{cause}");
}

#[test]
fn plans_are_explained() {
    let lake = fleet();
    let output = sql(&lake.path(), &["EXPLAIN SELECT class FROM classes WHERE snapshot = 'run3' AND count > 5"])
        .output()
        .unwrap();
    let plan = String::from_utf8(output.stdout).unwrap();
    assert!(plan.contains("Scan: file=classes.parquet, files=1"), "{plan}");
    // The other condition rules out row groups by their statistics.
    assert!(plan.contains("pruned by count@1 > 5"), "{plan}");
}

#[test]
fn conditions_that_rule_out_row_groups_and_pages_lose_no_row() {
    let lake = fleet();
    // Texts, counts, addresses, flags, nulls, and columns in another order than in the file.
    for (columns, table, condition) in [
        ("severity, rule", "findings", "severity = 'low'"),
        ("rule", "findings", "rule > 'd' AND bytes > 1000"),
        ("retained_bytes, class", "classes", "class = '(string)'"),
        ("fingerprint", "classes", "retained_bytes BETWEEN 1000 AND 100000"),
        ("node, name", "nodes", "name LIKE 'S%' AND reachable"),
        ("name, node", "nodes", "node IN (5, 700, 1500) OR dominator = 0"),
        ("class", "nodes", "native_bytes IS NULL AND retained_bytes > 5000"),
        ("id, kind", "nodes", "id = 7 OR kind = 'closure'"),
    ] {
        let pruned = format!("SELECT {columns} FROM {table} WHERE {condition} ORDER BY {columns}");
        // A condition on what an expression yields reaches no statistics.
        let all = format!(
            "SELECT {columns} FROM {table} WHERE CASE WHEN {condition} THEN random() >= 0 END ORDER BY {columns}"
        );
        let rows = |statement: &str| crate::shared::json(&mut sql(&lake.path(), &[statement, "--format", "json"]));
        let found = rows(&pruned);
        assert_eq!(found, rows(&all), "{condition}");
        assert!(!found.is_empty(), "{condition}");
    }
}
