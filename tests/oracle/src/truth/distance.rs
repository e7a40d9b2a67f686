//! Distances of nodes from the user's program.

use std::collections::{BTreeSet, VecDeque};

use super::roots::is_user_root;
use super::weakmap;
use crate::model::{Edge, Label, Snapshot};
use crate::text::OracleString;

/// Distance of the root if there are user roots: nodes reachable only from here belong to the system.
pub const SYSTEM_DISTANCE: i32 = 100_000_000;

/// Two breadth-first searches: from all user roots, which have distance 1, and then from the root for the remaining
/// nodes. The root itself has [`SYSTEM_DISTANCE`], or 0 if there are no user roots, even where the first search reached
/// it.
pub(super) fn distances(snapshot: &Snapshot) -> Vec<Option<i32>> {
    let root = snapshot.root();
    let mut search = Search { snapshot, distance: vec![None; snapshot.nodes.len()], half_seen: BTreeSet::new() };
    // A node is queued once per edge of the root, which matters to weak maps.
    let targets = snapshot.nodes[root].edges.iter().map(|edge| edge.to);
    let user_roots: Vec<usize> = targets.filter(|&v| is_user_root(snapshot, v)).collect();
    for &user_root in &user_roots {
        search.distance[user_root] = Some(1);
    }
    let root_distance = if user_roots.is_empty() { 0 } else { SYSTEM_DISTANCE };
    search.run(user_roots);
    search.distance[root] = Some(root_distance);
    search.run(vec![root]);
    search.distance
}

struct Search<'a> {
    snapshot: &'a Snapshot,
    distance: Vec<Option<i32>>,
    /// Entries of weak maps with one edge visited and skipped; kept from the first search to the second.
    half_seen: BTreeSet<Vec<u16>>,
}

impl Search<'_> {
    /// Continues from nodes with a distance to nodes without one.
    fn run(&mut self, starts: Vec<usize>) {
        let mut queue = VecDeque::from(starts);
        while let Some(from) = queue.pop_front() {
            let distance = self.distance[from].expect("queued nodes have a distance");
            for edge in &self.snapshot.nodes[from].edges {
                // `follows` comes last, since each call changes its state.
                if self.snapshot.edge_type(edge) != "weak"
                    && self.distance[edge.to].is_none()
                    && self.follows(from, edge)
                {
                    self.distance[edge.to] = Some(distance + 1);
                    queue.push_back(edge.to);
                }
            }
        }
    }

    /// Skips a native context's `sloppy_function_map`, the links among an array of map descriptors, and the first of a
    /// WeakMap entry's two edges: its value is as far away as the farther of key and table.
    fn follows(&mut self, from: usize, edge: &Edge) -> bool {
        let snapshot = self.snapshot;
        let name = snapshot.node_name(from);
        match snapshot.node_type(from) {
            "hidden" if *name == "system / NativeContext" && is_sloppy_map(snapshot, edge) => return false,
            "array" if *name == "(map descriptors)" => return is_no_descriptor_link(snapshot, edge),
            _ => {}
        }
        snapshot.edge_type(edge) != "internal" || !self.is_first_of_entry(edge)
    }

    /// Whether the edge belongs to a WeakMap entry with the other edge not visited, or visited and used up. Toggles the
    /// state.
    fn is_first_of_entry(&mut self, edge: &Edge) -> bool {
        let name = self.snapshot.edge_name(edge).expect("internal edges have names");
        let Some(ephemeron) = weakmap::parse(name) else { return false };
        let is_second = self.half_seen.remove(&ephemeron.entry);
        if !is_second {
            self.half_seen.insert(ephemeron.entry);
        }
        !is_second
    }
}

/// The name of an edge that a search follows, whatever its state; `None` if it never does.
pub(super) fn followed_as(snapshot: &Snapshot, from: usize, edge: &Edge) -> Option<OracleString> {
    if snapshot.edge_type(edge) == "weak" {
        return None;
    }
    let name = match snapshot.label(edge) {
        Label::Index(_) => "[]".into(),
        Label::Name(name) => name.clone(),
    };
    let node = snapshot.node_name(from);
    match snapshot.node_type(from) {
        "hidden" if *node == "system / NativeContext" && is_sloppy_map(snapshot, edge) => None,
        "array" if *node == "(map descriptors)" => is_no_descriptor_link(snapshot, edge).then_some(name),
        _ => {
            let entry = snapshot.edge_type(edge) == "internal"
                && snapshot.edge_name(edge).is_some_and(|name| weakmap::parse(name).is_some());
            Some(if entry { "(entry)".into() } else { name })
        }
    }
}

/// Whether the edge of a descriptor array has an index other than 4, 7, 10 and so on. Names count by their leading
/// number; names without one are followed.
fn is_no_descriptor_link(snapshot: &Snapshot, edge: &Edge) -> bool {
    let index = match snapshot.label(edge) {
        Label::Index(index) => Some(index as f64),
        Label::Name(name) => name.leading_integer(),
    };
    index.is_none_or(|index| index < 2.0 || index % 3.0 != 1.0)
}

fn is_sloppy_map(snapshot: &Snapshot, edge: &Edge) -> bool {
    snapshot.edge_name(edge).is_some_and(|name| *name == "sloppy_function_map")
}
