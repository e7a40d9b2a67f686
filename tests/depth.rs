//! Planted answers: files whose right numbers are known by construction, among them structures that would break
//! anything recursive, and sizes that no reference tool is asked about.

#![allow(clippy::unwrap_used)] // helpers of tests may fail loudly

mod support;

use heaplake_generator::file;
use heaplake_generator::plan::{Plan, Shape, Target};
use std::fs::File;
use std::io::BufWriter;
use support::{Lake, Table};
use tempfile::TempDir;

/// Writes the planned file, analyses it with these options, and compares every planted answer.
fn check(plan: &Plan, options: &[&str]) {
    let lake = Lake::new();
    // On disk, unlike the lake: the long tests write files of hundreds of megabytes.
    let folder = TempDir::new().unwrap();
    let input = folder.path().join("planted.heapsnapshot");
    file::write(plan, BufWriter::new(File::create(&input).unwrap())).unwrap();
    lake.analyze(&input).args(options).arg("--scratch").arg(folder.path().join("scratch")).assert().success();
    let run = lake.run();
    let answers = file::answers(plan);

    let nodes = Table::read(&run, "nodes.parquet");
    let (shallow, retained) = (nodes.u64s("shallow_bytes"), nodes.u64s("retained_bytes"));
    let (distance, dominator) = (nodes.i32s("distance"), nodes.u32s("dominator"));
    let planted = answers.checkpoints();
    assert!(!planted.is_empty());
    for fact in planted {
        let node = fact.ordinal as usize;
        let ours = (shallow[node], retained[node], distance[node], dominator[node]);
        let theirs = (
            Some(fact.shallow),
            Some(fact.retained),
            fact.distance.map(|distance| distance as i32),
            Some(fact.dominator as u32),
        );
        assert_eq!(ours, theirs, "node {node}");
    }

    let classes = Table::read(&run, "classes.parquet");
    let keys = classes.texts("class_key");
    let column = |name: &str| classes.u64s(name);
    let numbers = [column("count"), column("shallow_bytes"), column("retained_bytes")];
    let distances = classes.i32s("distance");
    for (key, row) in answers.classes() {
        let at = keys.iter().position(|other| other.as_deref() == Some(key)).unwrap_or_else(|| panic!("no {key}"));
        let ours: [u64; 3] = std::array::from_fn(|i| numbers[i][at].unwrap());
        assert_eq!(ours, [row.count, row.shallow_bytes, row.retained_bytes], "{key}");
        assert_eq!(distances[at], row.distance.map(|distance| distance as i32), "{key}");
    }
}

fn list(nodes: u64) -> Plan {
    file::plan(1, Shape::List { nodes }, Target::Nodes(nodes))
}

fn trace_tree(depth: u64) -> Plan {
    file::plan(1, Shape::DeepTrace { depth }, Target::Nodes(depth))
}

fn realistic(seed: u64, bytes: u64) -> Plan {
    file::plan(seed, Shape::Realistic, Target::Bytes(bytes))
}

#[test]
fn planted_answers_are_found() {
    (1..=3).for_each(|seed| check(&realistic(seed, 3_000_000), &[]));
}

#[test]
fn a_long_list_and_a_deep_trace_tree_work() {
    check(&list(500_000), &[]);
    check(&trace_tree(100_000), &[]);
}

#[test]
#[ignore = "long"]
fn a_list_of_ten_million_nodes_works() {
    check(&list(10_000_000), &[]);
}

#[test]
#[ignore = "long"]
fn a_trace_tree_of_a_million_levels_works() {
    check(&trace_tree(1_000_000), &[]);
}

#[test]
#[ignore = "long"]
fn planted_answers_are_found_in_a_large_file() {
    check(&realistic(4, 600_000_000), &[]);
}
