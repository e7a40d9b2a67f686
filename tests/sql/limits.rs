//! Limits of statements: permissions, time and memory.

use crate::shared::{fleet, json, one, sql};
use heaplake_support::lake::{Lake, diagnostic};
use serde_json::json;
use std::fs;

#[test]
fn the_lake_cannot_be_changed() {
    let lake = fleet();
    let before = listing(&lake);
    let elsewhere = tempfile::tempdir().unwrap();
    let copied = elsewhere.path().join("copied.parquet");
    let copy = format!("COPY (SELECT 1) TO '{}'", copied.display());
    for statement in [
        copy.as_str(),
        "CREATE TABLE t (a INT)",
        "CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '/tmp'",
        "CREATE VIEW v AS SELECT 1",
        "DROP VIEW classes",
        "INSERT INTO classes SELECT * FROM classes",
        "SET datafusion.execution.batch_size = 1",
        "DELETE FROM classes",
    ] {
        let (cause, _) = diagnostic(&mut sql(&lake.path(), &[statement]), 2);
        assert!(!cause.is_empty());
    }
    assert_eq!(listing(&lake), before);
    assert!(!copied.exists());
}

#[test]
fn other_files_cannot_be_read() {
    let lake = fleet();
    let file = lake.runs()[0].join("classes.parquet");
    diagnostic(&mut sql(&lake.path(), &[&format!("SELECT * FROM '{}'", file.display())]), 2);
}

#[test]
fn what_does_not_fit_is_spilled() {
    let lake = fleet();
    // Some million rows of several texts each, sorted: far more than the memory left beside fixed buffers.
    let statement = "SELECT count(*) FROM (SELECT * FROM (SELECT a.name || b.snapshot AS name, a.node, b.release, \
                     row_number() OVER (ORDER BY a.id, b.snapshot, a.node, s.value) AS n FROM nodes a CROSS JOIN runs b \
                     CROSS JOIN generate_series(1, 8) s))";
    let wide = one(&lake, "SELECT 32 * count(*) FROM nodes");
    let small = json(&mut sql(&lake.path(), &[statement, "--format", "json", "--memory", "88MiB", "--threads", "2"]));
    assert_eq!(small[0].as_object().unwrap().values().next(), Some(&wide));
}

#[test]
fn large_joins_are_planned_to_spill() {
    let lake = fleet();
    let plan = |memory: &str| {
        let statement = "EXPLAIN SELECT count(*) FROM nodes a JOIN nodes b USING (release, snapshot, id)";
        let output = sql(&lake.path(), &[statement, "--memory", memory]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(plan("4GiB").contains("HashJoinExec"), "{}", plan("4GiB"));
    assert!(plan("32MiB").contains("SortMergeJoinExec"), "{}", plan("32MiB"));
}

#[test]
fn rows_do_not_depend_on_threads() {
    let lake = fleet();
    let statement = "SELECT class, sum(retained_bytes) AS bytes FROM classes GROUP BY class ORDER BY bytes DESC, class";
    let answer = |threads: &str| json(&mut sql(&lake.path(), &[statement, "--format", "json", "--threads", threads]));
    assert_eq!(answer("1"), answer("8"));
}

#[test]
fn wrong_statements_say_what_there_is() {
    let lake = fleet();
    for (statement, word) in [
        ("SELEC 1", "SELEC"),
        ("SELECT * FROM klasses", "klasses"),
        ("SELECT klass FROM classes", "klass"),
        ("SELECT 'a' + 1", "a"),
    ] {
        let (cause, _) = diagnostic(&mut sql(&lake.path(), &[statement]), 2);
        assert!(cause.contains(word), "{cause}");
    }
    let (cause, _) = diagnostic(&mut sql(&lake.runs()[0], &["SELECT 1"]), 2);
    assert!(cause.contains("a run, not a lake"), "{cause}");
    diagnostic(&mut sql(&lake.folder().join("none"), &["SELECT 1"]), 2);
    assert_eq!(one(&lake, "SELECT 1"), json!(1));
}

fn listing(lake: &Lake) -> Vec<(std::path::PathBuf, u64)> {
    let files = lake.runs().into_iter().flat_map(|run| fs::read_dir(run).unwrap());
    let mut files: Vec<_> =
        files.map(|entry| entry.unwrap()).map(|file| (file.path(), file.metadata().unwrap().len())).collect();
    files.sort();
    files
}
