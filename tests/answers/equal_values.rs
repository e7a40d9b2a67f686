//! Nodes with equal hashes and different values, and the reverse: columns in memory and in files give the same result.

use super::duplicate_sets::sets;
use heaplake_oracle::{Layout, Snapshot};
use heaplake_support::lake::Lake;
use std::fs;

/// Objects below the root; `edges` adds the edges of each from its number and two symbols.
fn objects(count: usize, edges: impl Fn(&mut Snapshot, usize, usize, [usize; 2])) -> Snapshot {
    let mut snapshot = Snapshot::new();
    let root = snapshot.add_node("synthetic", "", 0);
    let symbols = [snapshot.add_node("symbol", "one", 16), snapshot.add_node("symbol", "two", 16)];
    for number in 0..count {
        let object = snapshot.add_node("object", "It", 32);
        snapshot.add_numbered_edge(root, "element", number as u64, object);
        edges(&mut snapshot, number, object, symbols);
    }
    snapshot
}

/// Checks the sizes of all sets, in descending order, with columns in memory and in files.
fn check(snapshot: &Snapshot, expected: &[usize]) {
    let lake = Lake::new();
    let input = lake.input("it.heapsnapshot", &snapshot.to_json(&Layout::default()));
    for mode in ["trivial", "all"] {
        let tables = [("never", "1"), ("never", "3"), ("always", "1")].map(|(resume, threads)| {
            let options = ["--duplicates", mode, "--force", "--resume", resume, "--threads", threads];
            lake.analyze(&input).args(options).assert().success();
            let mut members: Vec<usize> = sets(&lake.run()).iter().map(|set| set.members.len()).collect();
            members.sort_unstable_by(|left, right| right.cmp(left));
            assert_eq!(members, expected, "{mode} {resume}");
            ["duplicate_sets.parquet", "duplicate_members.parquet", "nodes.parquet"]
                .map(|table| fs::read(lake.run().join(table)).unwrap())
        });
        assert!(tables.iter().all(|table| *table == tables[0]), "{mode}");
    }
}

#[test]
fn one_label_twice_is_told_apart_by_order() {
    // A sum over the edges does not depend on their order. Few such nodes are compared one by one.
    for count in [20, 3000] {
        let snapshot = objects(count, |snapshot, number, object, symbols| {
            snapshot.add_edge(object, "weak", "x", symbols[number % 2]);
            snapshot.add_edge(object, "weak", "x", symbols[1 - number % 2]);
        });
        check(&snapshot, &[count / 2, count / 2]);
    }
}

#[test]
fn labels_in_any_order_are_equal() {
    // Beyond some thousand edges only sorting decides.
    for labels in [10, 6000] {
        let snapshot = objects(4, |snapshot, number, object, symbols| {
            for at in 0..labels {
                let label = if number % 2 == 0 { at } else { labels - 1 - at };
                snapshot.add_edge(object, "weak", format!("x{label}").as_str(), symbols[label % 2]);
            }
        });
        check(&snapshot, &[4]);
    }
}

#[test]
fn every_part_of_a_value_counts() {
    let snapshot = objects(64, |snapshot, number, object, symbols| {
        snapshot.nodes[object].self_size += (number as u64 & 1) * 8;
        let kind = if number & 2 == 0 { "weak" } else { "property" };
        snapshot.add_edge(object, kind, if number & 4 == 0 { "x" } else { "y" }, symbols[0]);
        if number & 8 != 0 {
            snapshot.add_edge(object, "property", "z", symbols[number >> 4 & 1]);
        }
    });
    // Without a last edge, two more bits do not count.
    check(&snapshot, &[[4; 8].as_slice(), &[2; 16]].concat());
}
