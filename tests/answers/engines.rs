//! Snapshots in V8's format by other runtimes: `tests/programs/engines.cjs`, with an array of sessions that only grows.

use heaplake_schemas::run::Run;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake, read_json, said};
use heaplake_support::table::Table;
use std::path::PathBuf;

const SYSTEM: i32 = 100_000_000;

fn analyzed(name: &str) -> (Lake, PathBuf, Run) {
    let lake = Lake::new();
    lake.analyze(fixtures::v8(name)).arg("--edges").assert().success();
    let place = lake.run();
    let run = read_json(place.join("run.json"));
    (lake, place, run)
}

/// Rows of the objects of a class.
fn objects(nodes: &Table, class: &str) -> Vec<usize> {
    let (kinds, classes) = (nodes.texts("kind"), nodes.texts("class"));
    let is = |&row: &usize| kinds[row].as_deref() == Some("object") && classes[row].as_deref() == Some(class);
    (0..nodes.rows()).filter(is).collect()
}

#[test]
fn bun_has_roots_distances_and_arrays() {
    let (_lake, place, run) = analyzed("bun14_sessions");
    let nodes = Table::read(&place, "nodes.parquet");
    let distances = nodes.i32s("distance");
    let distance = |row: usize| distances[row].unwrap();
    let [global] = objects(&nodes, "GlobalObject")[..] else { panic!("one global object") };
    let [sessions] = objects(&nodes, "Sessions")[..] else { panic!("one object of the class") };
    // The global object is the root of the program.
    assert_eq!((distance(global), distance(sessions)), (1, 2));
    let all = objects(&nodes, "Session");
    assert_eq!(all.len(), 4000);
    assert!(all.iter().all(|&row| distance(row) == 4));
    assert!((0..nodes.rows()).any(|row| distances[row].is_some_and(|distance| distance >= SYSTEM)));
    // JavaScriptCore's arrays have no backing store node: their entries are their own edges.
    let first = &run.summary.findings[0];
    assert!(first.message.contains("Sessions.open") && first.message.contains("4,000 Session"), "{}", first.message);
}

#[test]
fn deno_has_globals_scripts_and_arrays() {
    let (_lake, place, _) = analyzed("deno29_sessions");
    let nodes = Table::read(&place, "nodes.parquet");
    let distances = nodes.i32s("distance");
    // Its snapshots have no user root, so distances count from the root, as in DevTools.
    assert_eq!(distances[0], Some(0));
    assert!(distances.iter().flatten().all(|&distance| distance < SYSTEM));
    assert_eq!(objects(&nodes, "Session").len(), 4000);
    let [sessions] = objects(&nodes, "Sessions")[..] else { panic!("one object of the class") };
    let output = heaplake().arg("why").arg(&place).arg(sessions.to_string()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && said.contains("Window"), "{said}");
    // Rows of locations have five fields there.
    let (scripts, lines) = (nodes.u32s("script_id"), nodes.u32s("line"));
    let located = (0..nodes.rows()).filter(|&row| scripts[row].is_some() && lines[row].is_some()).count();
    assert!(located > 3000, "{located}");
}

/// Not a hundred million edges.
#[test]
fn the_distance_of_what_only_the_runtime_holds_is_system() {
    let (_lake, place, _) = analyzed("bun14_sessions");
    let distances = Table::read(&place, "nodes.parquet").i32s("distance");
    let ask = |row: usize| said(heaplake().arg("why").arg(&place).arg(row.to_string()));
    let far = distances.iter().position(|distance| distance.is_some_and(|distance| distance > SYSTEM)).unwrap();
    let near = distances.iter().position(|&distance| distance == Some(2)).unwrap();
    assert!(ask(far).contains("Only the runtime leads to it: its distance is \"system\"."), "{}", ask(far));
    assert!(!ask(near).contains("Only the runtime"));
    assert!([far, near].iter().all(|&row| !ask(row).contains("10000000")));
}
