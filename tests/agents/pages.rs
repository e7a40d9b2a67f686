//! Pages: followed to the end they are the whole table, at any size of an answer.

use crate::client::Client;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, answer, heaplake};
use heaplake_support::table::Table;
use serde_json::{Value, json};
use std::path::Path;

fn numbers(rows: &[Value], name: &str) -> Vec<u64> {
    rows.iter().map(|row| row[name].as_u64().unwrap()).collect()
}

fn column(run: &Path, file: &str, name: &str) -> Vec<u64> {
    Table::read(run, file).u32s(name).into_iter().map(|number| u64::from(number.unwrap())).collect()
}

#[test]
fn pages_reach_the_end_of_each_list() {
    let (lake, run) = Lake::of(fixtures::v8("node24_app"), &[]);
    let mut client = Client::start(&lake.path());
    for bytes in [1500, 6000, 64_000] {
        let classes = client.all("top", &json!({"what": "classes", "max_bytes": bytes}), "classes");
        assert_eq!(numbers(&classes, "class_id"), column(&run, "classes.parquet", "class_id"));
        let retained: Vec<u64> =
            Table::read(&run, "classes.parquet").u64s("retained_bytes").into_iter().map(Option::unwrap).collect();
        assert_eq!(numbers(&classes, "retained_bytes"), retained);
        let findings = client.all("findings", &json!({"max_bytes": bytes}), "findings");
        assert_eq!(findings.len(), Table::read(&run, "findings.parquet").rows());
        let owners = client.all("top", &json!({"what": "owners", "max_bytes": bytes}), "owners");
        let names: Vec<&str> = owners.iter().map(|row| row["owner"].as_str().unwrap()).collect();
        let table = Table::read(&run, "owners.parquet").texts("owner");
        assert_eq!(names, table.iter().map(|name| name.as_deref().unwrap()).collect::<Vec<_>>());
    }
}

#[test]
fn pages_of_children_and_instances_are_those_of_the_nodes() {
    let (lake, run) = Lake::of(fixtures::v8("small"), &[]);
    let mut client = Client::start(&lake.path());
    let nodes = Table::read(&run, "nodes.parquet");
    let (dominators, retained) = (nodes.u32s("dominator"), nodes.u64s("retained_bytes"));
    let (classes, shallow) = (nodes.u32s("class_id"), nodes.u64s("shallow_bytes"));
    let by_size = |mut found: Vec<usize>| {
        found.sort_by_key(|&node| (std::cmp::Reverse(retained[node]), node));
        found.into_iter().map(|node| node as u64).collect::<Vec<_>>()
    };
    // The object with most children, and the root.
    let mut counts = vec![0u32; nodes.rows()];
    dominators.iter().for_each(|above| counts[above.unwrap() as usize] += 1);
    let busiest = (0..counts.len()).max_by_key(|&node| counts[node]).unwrap();
    for above in [busiest, 0] {
        let is_child = |&node: &usize| dominators[node] == Some(above as u32) && node != above;
        let expected = by_size((0..nodes.rows()).filter(is_child).collect());
        let found = client.all("dominated", &json!({"node": above, "max_bytes": 64_000}), "children");
        assert_eq!(numbers(&found, "node"), expected);
    }
    let class = client.call("top", json!({"what": "classes", "sort": "count", "limit": 1}));
    let class = class["heap_data"]["classes"][0]["class_id"].as_u64().unwrap();
    let is_of = |&node: &usize| classes[node] == Some(class as u32) && shallow[node] > Some(0);
    let expected = by_size((0..nodes.rows()).filter(is_of).collect());
    let found = client.all("class", &json!({"class": class, "max_bytes": 64_000}), "instances");
    assert_eq!(numbers(&found, "node"), expected);
    // As a class counts its instances.
    let answer = client.call("class", json!({"class": class}));
    assert_eq!(answer["heap_data"]["class"]["count"], expected.len());
}

#[test]
fn pages_of_objects_go_on_where_the_last_ended() {
    let (lake, run) = Lake::of(fixtures::v8("small"), &[]);
    let mut client = Client::start(&lake.path());
    let theirs = answer(heaplake().arg("top").arg(&run).args(["-n", "150", "--json"]));
    let theirs = numbers(theirs["objects"].as_array().unwrap(), "node");
    let (mut ours, mut arguments) = (Vec::new(), json!({"limit": 40}));
    while ours.len() < theirs.len() {
        let answer = client.call("top", arguments.clone());
        ours.extend(numbers(answer["heap_data"]["objects"].as_array().unwrap(), "node"));
        arguments["cursor"] = answer["coverage"]["cursor"].clone();
    }
    ours.truncate(theirs.len());
    assert_eq!(ours, theirs);
    let few = client.all("top", &json!({"class": "Map", "max_bytes": 1500}), "objects");
    assert!(few.iter().all(|row| row["class"] == "Map") && !few.is_empty());
}

#[test]
fn a_cursor_of_a_replaced_run_is_refused() {
    let lake = Lake::new();
    let analyze = |options: &[&str]| {
        lake.analyze(fixtures::v8("small")).args(["--snapshot", "it"]).args(options).assert().success();
    };
    analyze(&[]);
    let mut client = Client::start(&lake.path());
    let first = client.call("top", json!({"what": "classes", "limit": 3}));
    let cursor = first["coverage"]["cursor"].clone();
    client.call("top", json!({"what": "classes", "limit": 3, "cursor": cursor}));
    analyze(&["--force", "--min-count", "7"]);
    let error = client.fail("top", json!({"what": "classes", "limit": 3, "cursor": cursor}));
    assert!(error["error"].as_str().unwrap().contains("replaced"), "{error}");
    client.call("top", json!({"what": "classes", "limit": 3}));
}

#[test]
fn runs_of_a_lake_are_listed_to_the_end() {
    let lake = Lake::new();
    for at in 0..40 {
        let name = format!("web{at:02}");
        let classes = [heaplake_support::written::Class::plain("Shop".to_owned(), 3, 1000 + at)];
        heaplake_support::written::write(&lake.path(), ("1.0", &name, Some("web")), &classes).unwrap();
    }
    let mut client = Client::start(&lake.path());
    let runs = client.all("overview", &json!({}), "runs");
    let mut names: Vec<&str> = runs.iter().map(|run| run["run"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, (0..40).map(|at| format!("1.0/web{at:02}")).collect::<Vec<_>>());
}
