//! The sets of duplicates of a run.

use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::path::Path;

/// A row of `duplicate_sets` with its members.
#[derive(Debug, Clone)]
pub(crate) struct Set {
    pub class: String,
    pub status: String,
    pub trivial: bool,
    pub instance_bytes: u64,
    pub additional_bytes: u64,
    pub additional_exact: bool,
    pub held_by: Option<u32>,
    pub members: Vec<u32>,
    pub preview: Option<String>,
}

/// Reads both tables and checks their invariants.
pub(crate) fn sets(run: &Path) -> Vec<Set> {
    let table = Table::read(run, "duplicate_sets.parquet");
    let members = Table::read(run, "duplicate_members.parquet");
    let mut lists: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (set, node) in members.u32s("set").into_iter().zip(members.u32s("node")) {
        lists.entry(set.unwrap()).or_default().push(node.unwrap());
    }
    let (classes, statuses) = (table.texts("class"), table.texts("status"));
    let (trivial, exact) = (table.bools("trivial"), table.bools("additional_exact"));
    let (bytes, additional) = (table.u64s("instance_bytes"), table.u64s("additional_bytes"));
    let (held, previews) = (table.u32s("held_by"), table.texts("preview"));
    check(&table, &lists, run);
    (0..table.rows())
        .map(|at| {
            let list = lists.remove(&(at as u32)).unwrap();
            Set {
                class: classes[at].clone().unwrap(),
                status: statuses[at].clone().unwrap(),
                trivial: trivial[at].unwrap(),
                instance_bytes: bytes[at].unwrap(),
                additional_bytes: additional[at].unwrap(),
                additional_exact: exact[at].unwrap(),
                held_by: held[at],
                members: list,
                preview: previews[at].clone(),
            }
        })
        .collect()
}

/// Invariants of all sets and members.
fn check(table: &Table, lists: &BTreeMap<u32, Vec<u32>>, run: &Path) {
    let (numbers, counts, examples) = (table.u32s("set"), table.u64s("members"), table.u32s("example_node"));
    let (statuses, reasons) = (table.texts("status"), table.texts("reason"));
    let in_nodes = Table::read(run, "nodes.parquet").u32s("duplicate_set");
    assert_eq!(in_nodes.iter().flatten().count(), lists.values().map(Vec::len).sum::<usize>());
    for (at, set) in (0..table.rows()).zip(0..) {
        let list = &lists[&set];
        assert_eq!(numbers[at], Some(set));
        assert_eq!(counts[at], Some(list.len() as u64));
        assert_eq!(examples[at], Some(list[0]));
        assert!(list.is_sorted() && list.len() > 1);
        assert!(list.iter().all(|&node| in_nodes[node as usize] == Some(set)));
        assert_eq!(statuses[at].as_deref() == Some("exact"), reasons[at].is_none());
    }
}
