//! Invariants of every run's chains.

use crate::table::Table;
use std::collections::BTreeMap;
use std::path::Path;

/// The chains of one kind and class sum to the class row, and every big class has some.
pub fn check_chain_sums(run: &Path) {
    let (chains, classes) = (Table::read(run, "chains.parquet"), Table::read(run, "classes.parquet"));
    let numbers = |table: &Table, row: usize| {
        ["count", "shallow_bytes", "retained_bytes"].map(|column| table.u64s(column)[row].unwrap())
    };
    let mut sums: BTreeMap<(String, u32), [u64; 3]> = BTreeMap::new();
    let (kinds, ids) = (chains.texts("kind"), chains.u32s("class_id"));
    for row in 0..chains.rows() {
        let sum = sums.entry((kinds[row].clone().unwrap(), ids[row].unwrap())).or_default();
        numbers(&chains, row).iter().zip(sum).for_each(|(more, sum)| *sum += more);
    }
    let (ids, big) = (classes.u32s("class_id"), classes.bools("big"));
    let rows = (0..classes.rows()).filter(|&row| big[row].unwrap());
    let expected = rows.flat_map(|row| {
        let numbers = numbers(&classes, row);
        ["reference", "dominator"].map(|kind| ((kind.to_owned(), ids[row].unwrap()), numbers))
    });
    assert_eq!(sums, expected.collect());
}
