//! The library of queries.

use crate::shared::{fleet, json, one, rows, sql};
use heaplake_support::lake::{diagnostic, heaplake};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Queries with required parameters, or with empty results by default.
const GIVEN: [(&str, &[&str]); 3] = [
    ("growing-classes", &["--param", "from=1.0", "--param", "to=1.1"]),
    ("class-history", &["--param", "class=Object"]),
    ("worst-findings", &["--param", "severity=low"]),
];

fn names() -> Vec<String> {
    let output = heaplake().args(["sql", "--list-named"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|line| !line.is_empty() && !line.starts_with(' ')).map(ToOwned::to_owned).collect()
}

#[test]
fn every_query_answers() {
    let lake = fleet();
    let names = names();
    assert!(names.len() >= 10, "{names:?}");
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sql.md")).unwrap();
    assert!(names.iter().all(|name| page.contains(&format!("| `{name}` |"))), "docs/sql.md lacks one of {names:?}");
    for name in &names {
        let given = GIVEN.iter().find(|(query, _)| query == name).map_or(&[][..], |(_, given)| given);
        let answer = json(sql(&lake.path(), &["--named", name, "--format", "json"]).args(given));
        // The fleet has no traces.
        assert_eq!(answer.is_empty(), name == "allocating-functions", "{name}");
    }
}

#[test]
fn hosts_are_ordered_by_their_findings() {
    let lake = fleet();
    let answer = json(&mut sql(&lake.path(), &["--named", "worst-hosts", "--format", "json"]));
    let hosts: Vec<&Value> = answer.iter().map(|row| &row["host"]).collect();
    assert_eq!(hosts.len(), 3, "{answer:?}");
    let web1 = answer.iter().find(|row| row["host"] == "web1").unwrap();
    assert_eq!(web1["runs"], 2);
    let high = one(&lake, "SELECT sum(high_findings) FROM runs WHERE labels['host'] = 'web1'");
    assert_eq!(web1["high_findings"], high);
    let largest = json(&mut sql(&lake.path(), &["--named", "worst-hosts", "--param", "limit=1", "--format", "json"]));
    assert_eq!(largest, answer[..1]);
}

#[test]
fn growth_is_the_difference_of_medians() {
    let lake = fleet();
    let arguments = [&["--named", "growing-classes", "--format", "json"], GIVEN[0].1].concat();
    let answer = json(&mut sql(&lake.path(), &arguments));
    // Both releases have the same two inputs, so no class grows.
    assert!(!answer.is_empty() && answer.iter().all(|row| row["growth_bytes"] == json!(0)), "{answer:?}");
    let largest =
        json(&mut sql(&lake.path(), &["--named", "largest-classes", "--param", "limit=1", "--format", "json"]));
    let most = rows(&lake, "SELECT max(retained_bytes) AS most FROM classes");
    assert_eq!(largest[0]["max_retained_bytes"], most[0]["most"]);
    assert_eq!(largest[0]["runs"], json!(4));
}

#[test]
fn parameters_are_checked() {
    let lake = fleet();
    let lake = lake.path();
    diagnostic(&mut sql(&lake, &["--named", "nothing"]), 2);
    diagnostic(&mut sql(&lake, &["--named", "growing-classes"]), 2);
    diagnostic(&mut sql(&lake, &["--named", "releases", "--param", "limit=1"]), 2);
    diagnostic(&mut sql(&lake, &["--named", "duplicates", "--param", "limit=many"]), 2);
}
