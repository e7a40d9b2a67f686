//! Essential edges, shallow and retained sizes: small snapshots with answers worked out by hand.

use heaplake_oracle::{Snapshot, truth};

fn dominators(snapshot: &Snapshot) -> Vec<usize> {
    truth(snapshot).nodes.iter().map(|node| node.dominator).collect()
}

fn retained(snapshot: &Snapshot) -> Vec<u64> {
    truth(snapshot).nodes.iter().map(|node| node.retained).collect()
}

fn shallow(snapshot: &Snapshot) -> Vec<u64> {
    truth(snapshot).nodes.iter().map(|node| node.shallow).collect()
}

/// A root and objects of sizes 1, 2, 4, 8 and so on.
fn objects(count: usize) -> Snapshot {
    let mut snapshot = Snapshot::new();
    snapshot.add_node("synthetic", "", 0);
    for bit in 0..count {
        snapshot.add_node("object", "Node", 1 << bit);
    }
    snapshot
}

#[test]
fn diamond() {
    let mut snapshot = objects(4);
    for (from, to) in [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)] {
        snapshot.add_edge(from, "property", "p", to);
    }
    assert_eq!(dominators(&snapshot), [0, 0, 0, 0, 3]);
    assert_eq!(retained(&snapshot), [15, 1, 2, 12, 8]);
}

#[test]
fn orphans_influence_what_they_point_to() {
    // Only a weak edge leads to 3, so it counts as a child of the root, and 1 is not the only path to 2.
    let mut snapshot = objects(3);
    snapshot.add_edge(0, "property", "p", 1);
    snapshot.add_edge(1, "property", "p", 2);
    snapshot.add_edge(1, "weak", "w", 3);
    snapshot.add_edge(3, "property", "p", 2);
    assert_eq!(dominators(&snapshot), [0, 0, 0, 0]);
    assert_eq!(retained(&snapshot), [7, 1, 2, 4]);
}

#[test]
fn unreachable_rings_influence_nothing() {
    // 3 and 4 refer to each other. They and 5, reachable only from them, are children of the root; the edge from 4 to 2
    // does not count.
    let mut snapshot = objects(5);
    for (from, to) in [(0, 1), (1, 2), (3, 4), (4, 3), (4, 2), (4, 5)] {
        snapshot.add_edge(from, "property", "p", to);
    }
    assert_eq!(dominators(&snapshot), [0, 0, 1, 0, 0, 0]);
    assert_eq!(retained(&snapshot), [31, 3, 2, 4, 8, 16]);
}

#[test]
fn nodes_that_only_hold_themselves_are_orphans() {
    // Only a self edge enters 2, and self edges are not essential.
    let mut snapshot = objects(2);
    snapshot.add_edge(0, "property", "p", 1);
    snapshot.add_edge(2, "property", "me", 2);
    let truth = truth(&snapshot);
    assert_eq!(truth.essential[2], [false]);
    assert_eq!(truth.nodes[2].retainer_count, 1);
    assert_eq!(truth.nodes[2].dominator, 0);
}

/// A weak map with one entry: table 1, key 2, value 3, with ids 3, 5 and 7. The table or else the key is a user root,
/// and the other one is behind node 4.
fn weak_map(table_is_near: bool) -> Snapshot {
    let mut snapshot = objects(0);
    let table = snapshot.add_node("array", "table", 100);
    let key = snapshot.add_node("object", "Key", 10);
    let value = snapshot.add_node("object", "Value", 1);
    let between = snapshot.add_node("object", "Between", 0);
    let (near, far) = if table_is_near { (table, key) } else { (key, table) };
    snapshot.add_edge(0, "property", "near", near);
    snapshot.add_edge(0, "property", "between", between);
    snapshot.add_edge(between, "property", "far", far);
    let entry = "/ part of key (Key @5) -> value (Value @7) pair in WeakMap (table @3)";
    snapshot.add_edge(table, "internal", format!("2 {entry}").as_str(), value);
    snapshot.add_edge(key, "internal", format!("31 {entry}").as_str(), value);
    snapshot
}

#[test]
fn the_key_holds_a_weak_maps_value() {
    let truth = truth(&weak_map(true));
    assert_eq!(truth.essential[1], [false], "the edge from the table");
    assert_eq!(truth.essential[2], [true], "the edge from the key");
    assert_eq!(truth.nodes[3].dominator, 2);
    assert_eq!(truth.nodes[2].retained, 11);
}

#[test]
fn a_weak_maps_value_is_as_far_as_the_farther_of_table_and_key() {
    for table_is_near in [true, false] {
        let truth = truth(&weak_map(table_is_near));
        let distances: Vec<_> = truth.nodes[1..].iter().map(|node| node.distance).collect();
        let (table, key) = if table_is_near { (1, 2) } else { (2, 1) };
        assert_eq!(distances, [Some(table), Some(key), Some(3), Some(1)]);
    }
}

#[test]
fn a_weak_maps_value_is_not_reached_if_one_edge_is_missing() {
    let mut snapshot = weak_map(true);
    snapshot.nodes[2].edges.clear();
    let truth = truth(&snapshot);
    // The table's edge waits for the other one; nor is it essential, so the value is an orphan.
    assert_eq!(truth.nodes[3].distance, None);
    assert_eq!(truth.nodes[3].dominator, 0);
}

#[test]
fn the_page_is_not_held_from_outside() {
    // 1 is a window, so 2 belongs to the page; 3 is the debugger's, so its edge to 2 is not essential.
    let mut snapshot = objects(3);
    snapshot.add_edge(0, "shortcut", "window", 1);
    snapshot.add_edge(0, "property", "debugger", 3);
    snapshot.add_edge(1, "property", "p", 2);
    snapshot.add_edge(3, "property", "p", 2);
    let truth = truth(&snapshot);
    assert_eq!(truth.nodes.iter().map(|n| n.page_owned).collect::<Vec<_>>(), [false, true, true, false]);
    assert_eq!(truth.essential[3], [false]);
    assert_eq!(truth.nodes[2].dominator, 1);
}

#[test]
fn shortcuts_hold_from_the_root_only() {
    let mut snapshot = objects(2);
    snapshot.add_edge(0, "shortcut", "s", 1);
    snapshot.add_edge(1, "shortcut", "s", 2);
    let truth = truth(&snapshot);
    assert_eq!(truth.essential, [vec![true], vec![false], vec![]]);
    assert_eq!(truth.nodes[2].dominator, 0);
    assert_eq!(truth.nodes[2].distance, Some(2), "distances take them all the same");
}

/// Root, two objects of 1 and 2 bytes, an array of 4 and its hidden part of 8.
fn parts() -> Snapshot {
    let mut snapshot = objects(2);
    let array = snapshot.add_node("array", "", 4);
    let hidden = snapshot.add_node("hidden", "", 8);
    snapshot.add_edge(0, "property", "a", 1);
    snapshot.add_edge(0, "property", "b", 2);
    snapshot.add_edge(1, "internal", "elements", array);
    snapshot.add_edge(array, "internal", "map", hidden);
    snapshot
}

#[test]
fn parts_count_for_their_only_owner() {
    assert_eq!(shallow(&parts()), [0, 13, 2, 0, 0]);
}

#[test]
fn parts_with_two_owners_keep_their_size() {
    // The array still belongs to 1 alone, its part to 1 and 2.
    let mut snapshot = parts();
    snapshot.add_edge(2, "shortcut", "s", 4);
    assert_eq!(shallow(&snapshot), [0, 5, 2, 0, 8]);
    // Now the array has two owners, and so has its target.
    let mut snapshot = parts();
    snapshot.add_edge(2, "property", "p", 3);
    assert_eq!(shallow(&snapshot), [0, 1, 2, 4, 8]);
    // A weak edge makes no owner.
    let mut snapshot = parts();
    snapshot.add_edge(2, "weak", "w", 3);
    assert_eq!(shallow(&snapshot), [0, 13, 2, 0, 0]);
}

#[test]
fn the_root_and_synthetic_nodes_take_no_parts() {
    let mut snapshot = parts();
    snapshot.nodes[1].edges.clear();
    snapshot.add_edge(0, "property", "p", 3);
    assert_eq!(shallow(&snapshot), [0, 1, 2, 4, 8]);
}

#[test]
fn nothing_moves_without_user_roots() {
    let mut snapshot = parts();
    let roots = snapshot.add_node("synthetic", "(GC roots)", 0);
    snapshot.nodes[0].edges.clear();
    snapshot.add_numbered_edge(0, "element", 1, roots);
    snapshot.add_numbered_edge(roots, "element", 1, 1);
    let truth = truth(&snapshot);
    assert_eq!(truth.nodes[1].shallow, 1);
    assert_eq!(truth.nodes[0].distance, Some(0), "and the root is the start");
    assert_eq!(truth.nodes[1].distance, Some(2));
}

#[test]
fn distances_start_at_user_roots_and_then_at_the_root() {
    // 2 is behind a user root, 3 behind the synthetic 4 only, and 5 behind a weak edge.
    let mut snapshot = objects(3);
    let roots = snapshot.add_node("synthetic", "(GC roots)", 0);
    let weak = snapshot.add_node("object", "Weak", 1);
    snapshot.add_edge(0, "weak", "a", 1);
    snapshot.add_numbered_edge(0, "element", 1, roots);
    snapshot.add_edge(1, "property", "p", 2);
    snapshot.add_edge(roots, "property", "p", 3);
    snapshot.add_edge(2, "weak", "w", weak);
    let distances: Vec<_> = truth(&snapshot).nodes.iter().map(|node| node.distance).collect();
    let system = 100_000_000;
    let expected = [Some(system), Some(1), Some(2), Some(system + 2), Some(system + 1), None];
    assert_eq!(distances, expected);
}

#[test]
fn descriptor_arrays_are_no_shortcuts() {
    let mut snapshot = objects(7);
    let array = snapshot.add_node("array", "(map descriptors)", 1);
    snapshot.add_edge(0, "property", "p", array);
    for target in 1..=7 {
        snapshot.add_numbered_edge(array, "hidden", target as u64, target);
    }
    let distances: Vec<_> = truth(&snapshot).nodes.iter().map(|node| node.distance).collect();
    // 1 is below 2; 4 and 7 leave 1 when divided by 3.
    let (near, none) = (Some(2), None);
    assert_eq!(distances[1..=7], [near, near, near, none, near, near, none]);
}

#[test]
fn native_sizes_add_up_like_shallow_ones() {
    let mut snapshot = objects(2);
    snapshot.fields.native_size = true;
    snapshot.nodes[2].native_size = 50;
    snapshot.add_edge(0, "property", "p", 1);
    snapshot.add_edge(1, "property", "p", 2);
    let native: Vec<u64> = truth(&snapshot).nodes.iter().map(|node| node.retained_native).collect();
    assert_eq!(native, [50, 50, 50]);
}
