//! Owners of a run, and their invariants.

use crate::table::Table;
use std::collections::BTreeMap;
use std::path::Path;

/// The owners table: count, shallow, retained and freed size of each owner.
pub fn owners(run: &Path) -> BTreeMap<String, (u64, u64, u64, Option<u64>)> {
    let table = Table::read(run, "owners.parquet");
    let [count, shallow, retained, freed] =
        ["count", "shallow_bytes", "retained_bytes", "freed_bytes"].map(|column| table.u64s(column));
    assert!(retained.is_sorted_by(|a, b| a >= b), "owners are sorted by retained size");
    let names = table.texts("owner").into_iter().map(Option::unwrap).enumerate();
    let shares: BTreeMap<_, _> = names
        .map(|(row, name)| (name, (count[row].unwrap(), shallow[row].unwrap(), retained[row].unwrap(), freed[row])))
        .collect();
    assert_eq!(shares.len(), table.rows(), "no owner twice");
    shares
}

/// Shallow sizes of nodes, summed up by a column of their names; nulls and empty sums are left out.
pub fn node_sums(nodes: &Table, column: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (name, size) in nodes.texts(column).into_iter().zip(nodes.u64s("shallow_bytes")) {
        if let (Some(name), Some(size @ 1..)) = (name, size) {
            *sums.entry(name).or_default() += size;
        }
    }
    sums
}

/// Every byte belongs to one owner, in shallow as in retained size, and nodes name the owner that they count for.
pub fn check_owner_sums(run: &Path) {
    let (shares, nodes) = (owners(run), Table::read(run, "nodes.parquet"));
    let sizes: Vec<u64> = nodes.u64s("shallow_bytes").into_iter().map(Option::unwrap).collect();
    let heap: u64 = sizes.iter().sum();
    assert_eq!(shares.values().map(|share| share.1).sum::<u64>(), heap, "shallow");
    assert_eq!(shares.values().map(|share| share.2).sum::<u64>(), heap, "retained");
    let retained = shares.iter().filter(|(_, share)| share.2 > 0).map(|(name, share)| (name.clone(), share.2));
    assert_eq!(node_sums(&nodes, "owner"), retained.collect(), "owners of nodes");
    for (name, (_, shallow, _, freed)) in &shares {
        assert_eq!(freed.is_none(), ["(none)", "(unreachable)"].contains(&name.as_str()), "{name}");
        assert!(freed.is_none_or(|freed| freed >= *shallow && freed <= heap), "{name}");
    }
    let lost = sizes.iter().zip(nodes.bools("reachable")).filter(|(_, reachable)| *reachable == Some(false));
    let lost: u64 = lost.map(|(size, _)| size).sum();
    assert_eq!(shares.get("(unreachable)").map_or(0, |share| share.2), lost);
}
