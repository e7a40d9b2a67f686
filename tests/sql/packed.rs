//! A compacted lake: every table answers as before.

use crate::shared::{fleet, rows};
use heaplake_schemas::tables;
use heaplake_support::lake::{Lake, said};
use serde_json::Value;

/// Rows of all tables, and sums by run.
fn answers(lake: &Lake) -> Vec<Vec<Value>> {
    let all = tables::ALL.iter().filter(|table| table.runs.have_it() && !["nodes", "edges"].contains(&table.name));
    let mut answers: Vec<Vec<Value>> = all
        .map(|table| sorted(rows(lake, &format!("SELECT * EXCEPT (labels) FROM {} WHERE release <> '2'", table.name))))
        .collect();
    for statement in [
        "SELECT release, snapshot, labels['host'] AS host, sum(shallow_bytes) AS bytes FROM classes GROUP BY ALL",
        "SELECT snapshot, count(*) AS n FROM chains GROUP BY ALL",
        "SELECT count(*) AS n FROM duplicate_members",
        "SELECT snapshot, class, fingerprint FROM classes WHERE count > 5 AND snapshot <> 'run1'",
        "SELECT fingerprint FROM classes WHERE fingerprint > 9223372036854775808",
        "SELECT release, captured_at FROM owners",
    ] {
        answers.push(sorted(rows(lake, statement)));
    }
    answers
}

/// The order of rows is not that of runs.
fn sorted(mut rows: Vec<Value>) -> Vec<Value> {
    rows.sort_by_cached_key(Value::to_string);
    rows
}

#[test]
fn packed_runs_have_the_rows_of_their_tables() {
    let lake = fleet();
    let before = answers(&lake);
    said(heaplake_support::lake::heaplake().args(["lake", "compact"]).arg(lake.path()));
    assert!(lake.path().join("tables/classes").exists());
    let after = answers(&lake);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
}
