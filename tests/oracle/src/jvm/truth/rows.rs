//! Class rows: MAT's histogram, and each class's retained size.

use super::index::ClassId;
use super::node::NodeTruth;
use std::collections::BTreeMap;

/// The reachable objects of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassRow {
    pub name: String,
    /// Number of objects, empty ones included.
    pub count: u64,
    pub shallow: u64,
    /// Sum of the retained sizes of instances not dominated by another instance.
    pub retained: u64,
    /// The largest retained size among them.
    pub max_retained: u64,
    /// The least distance.
    pub distance: u32,
}

pub(super) fn class_rows(nodes: &[NodeTruth]) -> BTreeMap<ClassId, ClassRow> {
    let mut rows: BTreeMap<ClassId, ClassRow> = BTreeMap::new();
    for (v, node) in nodes.iter().enumerate() {
        let (Some(class), Some(distance)) = (node.class, node.distance) else { continue };
        let new =
            ClassRow { name: node.class_name.clone(), count: 0, shallow: 0, retained: 0, max_retained: 0, distance };
        let row = rows.entry(class).or_insert(new);
        row.count += 1;
        row.shallow += node.shallow;
        row.max_retained = row.max_retained.max(node.retained);
        row.distance = row.distance.min(distance);
        if !is_inside_own_class(nodes, v) {
            row.retained += node.retained;
        }
    }
    rows
}

/// Whether another object of the class dominates this one.
fn is_inside_own_class(nodes: &[NodeTruth], node: usize) -> bool {
    let up = |&v: &usize| nodes[v].dominator.filter(|&above| above != v);
    std::iter::successors(up(&node), up).any(|above| nodes[above].class == nodes[node].class)
}
