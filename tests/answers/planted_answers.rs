//! Planted answers: files with numbers known by construction. Some are so deep that recursion would overflow the stack,
//! some larger than other programs can read.

use heaplake_generator::file;
use heaplake_generator::plan::{Plan, Shape, Target};
use heaplake_support::lake::Lake;
use heaplake_support::planted;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use tempfile::TempDir;

/// Writes the planned file, analyses it, and compares every planted answer; returns the lake.
fn check(plan: &Plan, options: &[&str]) -> Lake {
    let lake = Lake::new();
    // On disk, unlike the lake: the long tests write files of hundreds of megabytes.
    let folder = TempDir::new().unwrap();
    let input = planted::write(plan, folder.path());
    lake.analyze(&input).args(options).arg("--scratch").arg(folder.path().join("scratch")).assert().success();
    planted::compare(plan, &lake.run());
    lake
}

/// A list of any length has two chains: one to its first node and one to the others.
fn check_chains_of_list(nodes: u64) {
    let lake = check(&list(nodes), &["--class", "ListNode"]);
    let chains = Table::read(&lake.run(), "chains.parquet");
    let texts = chains.texts("text").into_iter().map(Option::unwrap);
    let counts = chains.u64s("count").into_iter().map(Option::unwrap);
    let kinds = chains.texts("kind").into_iter().map(Option::unwrap);
    let (mut to, mut held) = (BTreeMap::new(), BTreeMap::new());
    for ((text, count), kind) in texts.zip(counts).zip(kinds) {
        let chains = if kind == "reference" { &mut to } else { &mut held };
        assert_eq!(chains.insert(text, count), None);
    }
    let classes = Table::read(&lake.run(), "classes.parquet");
    let at = classes.texts("class").iter().position(|class| class.as_deref() == Some("ListNode")).unwrap();
    let count = classes.u64s("count")[at].unwrap();
    assert!(count > nodes / 3);
    let (last, first): (Vec<_>, Vec<_>) = to.iter().partition(|(text, _)| text.ends_with(".next* → ListNode"));
    assert_eq!((last.len(), first.len()), (1, 1), "{to:?}");
    assert!(first[0].0.ends_with("LinkedList.head → ListNode"), "{to:?}");
    assert_eq!((*last[0].1, *first[0].1), (count - 1, 1));
    assert!(held.keys().all(|text| text.ends_with("LinkedList → ListNode*")), "{held:?}");
    assert_eq!(held.into_values().collect::<Vec<_>>(), [count]);
}

fn list(nodes: u64) -> Plan {
    file::plan(1, Shape::List { nodes }, Target::Nodes(nodes))
}

fn trace_tree(depth: u64) -> Plan {
    file::plan(1, Shape::DeepTrace { depth }, Target::Nodes(depth))
}

#[test]
fn planted_answers_are_found() {
    for seed in 1..=3 {
        check(&planted::realistic(seed, 3_000_000), &[]);
    }
}

#[test]
fn a_long_list_and_a_deep_trace_tree_work() {
    check_chains_of_list(500_000);
    check(&trace_tree(100_000), &[]);
}

#[test]
#[ignore = "long"]
fn a_list_of_ten_million_nodes_works() {
    check_chains_of_list(10_000_000);
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
