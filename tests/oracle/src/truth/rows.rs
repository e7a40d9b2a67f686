//! Class rows: DevTools' summary.

use std::collections::BTreeMap;

use super::answers::{ClassRow, NodeTruth};
use super::dominated;
use crate::text::OracleString;

/// One row per class key that has a node of non-zero size. The retained size of a node is added unless another node of
/// the row dominates it.
pub(super) fn class_rows(nodes: &[NodeTruth]) -> BTreeMap<OracleString, ClassRow> {
    let mut rows: BTreeMap<OracleString, ClassRow> = BTreeMap::new();
    for (v, node) in nodes.iter().enumerate().filter(|(_, node)| node.shallow != 0) {
        let new = ClassRow {
            name: node.class_name.clone(),
            count: 0,
            shallow: 0,
            retained: 0,
            max_retained: 0,
            distance: node.distance,
        };
        let row = rows.entry(node.class_key.clone()).or_insert(new);
        row.count += 1;
        row.shallow += node.shallow;
        row.max_retained = row.max_retained.max(node.retained);
        // `Option`'s order puts `None` below all distances, like -5.
        row.distance = row.distance.min(node.distance);
        if !is_inside_own_class(nodes, v) {
            row.retained += node.retained;
        }
    }
    rows
}

/// Whether a strict dominator of the node has the same class key and non-zero size.
pub(super) fn is_inside_own_class(nodes: &[NodeTruth], node: usize) -> bool {
    dominated::ancestors(node, |v| nodes[v].dominator)
        .any(|above| nodes[above].shallow != 0 && nodes[above].class_key == nodes[node].class_key)
}
