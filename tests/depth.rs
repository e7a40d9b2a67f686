//! Planted answers: files whose right numbers are known by construction, among them structures that would break
//! anything recursive, and sizes that no reference tool is asked about.

#![allow(clippy::unwrap_used)] // helpers of tests may fail loudly

mod support;

use heaplake_generator::file;
use heaplake_generator::plan::{Plan, Shape, Target};
use support::{Lake, planted};
use tempfile::TempDir;

/// Writes the planned file, analyses it with these options, and compares every planted answer.
fn check(plan: &Plan, options: &[&str]) {
    let lake = Lake::new();
    // On disk, unlike the lake: the long tests write files of hundreds of megabytes.
    let folder = TempDir::new().unwrap();
    let input = planted::write(plan, folder.path());
    lake.analyze(&input).args(options).arg("--scratch").arg(folder.path().join("scratch")).assert().success();
    planted::compare(plan, &lake.run());
}

fn list(nodes: u64) -> Plan {
    file::plan(1, Shape::List { nodes }, Target::Nodes(nodes))
}

fn trace_tree(depth: u64) -> Plan {
    file::plan(1, Shape::DeepTrace { depth }, Target::Nodes(depth))
}

#[test]
fn planted_answers_are_found() {
    (1..=3).for_each(|seed| check(&planted::realistic(seed, 3_000_000), &[]));
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
    check(&planted::realistic(4, 600_000_000), &[]);
}
