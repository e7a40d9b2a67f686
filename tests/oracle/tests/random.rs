//! Random snapshots: they keep their promises, survive the file, and the expected results are consistent with the
//! definitions.

#[path = "../examples/check_golden/read.rs"]
mod read;

use heaplake_oracle::{Layout, Shape, Snapshot, strategies, truth};
use proptest::prelude::*;

fn check(snapshot: &Snapshot) {
    let truth = truth(snapshot);
    let root = snapshot.root();
    let size = |sizes: &mut dyn Iterator<Item = u64>| sizes.sum::<u64>();
    let total = size(&mut snapshot.nodes.iter().map(|node| node.self_size));
    assert_eq!(size(&mut truth.nodes.iter().map(|node| node.shallow)), total, "sizes only move");
    assert_eq!(truth.nodes[root].retained, total, "the root retains everything");
    assert_eq!(truth.nodes[root].dominator, root);

    let edges: usize = snapshot.nodes.iter().map(|node| node.edges.len()).sum();
    assert_eq!(truth.nodes.iter().map(|node| node.retainer_count).sum::<usize>(), edges);

    for (v, node) in truth.nodes.iter().enumerate() {
        let below = truth.nodes.iter().enumerate().filter(|&(w, other)| other.dominator == v && w != v);
        assert_eq!(node.retained, node.shallow + below.map(|(_, other)| other.retained).sum::<u64>());
    }
    for row in truth.classes.values() {
        assert!(row.shallow <= row.retained && row.max_retained <= row.retained && row.retained <= total);
    }
    assert_eq!(truth.classes.values().map(|row| row.shallow).sum::<u64>(), total);
}

#[test]
fn truths_are_consistent() {
    for seed in 0..2000 {
        check(&Snapshot::random(seed, &Shape::default()));
    }
}

#[test]
fn files_mean_the_snapshot_in_every_layout() {
    for seed in 0..1000 {
        let snapshot = Snapshot::random(seed, &Shape::default());
        let layout = Layout::random(seed);
        assert_eq!(read::snapshot(&snapshot.to_json(&layout)), snapshot, "seed {seed}, {layout:?}");
    }
}

#[test]
fn seeds_make_snapshots_of_all_kinds() {
    let snapshots: Vec<_> = (0..1000).map(|seed| Snapshot::random(seed, &Shape::default())).collect();
    let truths: Vec<_> = snapshots.iter().map(truth).collect();
    let with_node = |is: &dyn Fn(&heaplake_oracle::NodeTruth) -> bool| {
        truths.iter().filter(|truth| truth.nodes.iter().any(is)).count()
    };
    assert!(with_node(&|node| node.distance.is_none()) > 100);
    assert!(with_node(&|node| node.distance.is_some_and(|d| (3..100_000_000).contains(&d))) > 100);
    assert!(with_node(&|node| node.detachedness == 2) > 100);
    assert!(with_node(&|node| node.page_owned) > 100);
    assert!(with_node(&|node| node.class_name.starts_with("{")) > 100);
    assert!(snapshots.iter().filter(|s| s.root_index.is_some()).count() > 50);
    assert!(snapshots.iter().filter(|s| s.nodes.len() == 1).count() > 5);
    for kind in heaplake_oracle::model::NODE_TYPES {
        let has = |s: &&Snapshot| (0..s.nodes.len()).any(|v| s.node_type(v) == kind);
        assert!(snapshots.iter().filter(has).count() > 50, "{kind}");
    }
    for kind in heaplake_oracle::model::EDGE_TYPES {
        let has = |s: &&Snapshot| s.edges().any(|(_, edge)| s.edge_type(edge) == kind);
        assert!(snapshots.iter().filter(has).count() > 200, "{kind}");
    }
}

#[test]
fn shapes_are_kept() {
    let shape = Shape { max_nodes: 5, max_links_per_node: 1, collisions: false, root_last: false };
    for seed in 0..200 {
        let snapshot = Snapshot::random(seed, &shape);
        assert!(snapshot.nodes.len() <= 5);
        assert_eq!(snapshot.root(), 0);
        let mut strings = snapshot.strings.clone();
        strings.sort();
        strings.dedup();
        assert_eq!(strings.len(), snapshot.strings.len());
        assert_eq!(snapshot, Snapshot::random(seed, &shape), "a seed is a snapshot");
    }
}

proptest! {
    #[test]
    fn drawn_snapshots(snapshot in strategies::snapshots(Shape::default()), layout in strategies::layouts()) {
        check(&snapshot);
        prop_assert_eq!(read::snapshot(&snapshot.to_json(&layout)), snapshot);
    }
}
