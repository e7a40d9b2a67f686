//! Which edges are essential.

use super::roots::is_document_list;
use super::weakmap;
use crate::model::{Edge, Snapshot};

/// Nodes of the page, as opposed to the debugger's: the targets of the root's shortcuts (the windows), the lists of
/// documents among the root's elements, and everything reachable from these over edges that are not weak.
pub(super) fn page_owned(snapshot: &Snapshot) -> Vec<bool> {
    let mut owned = vec![false; snapshot.nodes.len()];
    for edge in &snapshot.nodes[snapshot.root()].edges {
        owned[edge.to] |= match snapshot.edge_type(edge) {
            "shortcut" => true,
            "element" => is_document_list(snapshot, edge.to),
            _ => false,
        };
    }
    let mut changed = true;
    while changed {
        changed = false;
        for (from, edge) in snapshot.edges() {
            if owned[from] && !owned[edge.to] && snapshot.edge_type(edge) != "weak" {
                owned[edge.to] = true;
                changed = true;
            }
        }
    }
    owned
}

/// Whether each edge is essential.
pub(super) fn edges(snapshot: &Snapshot, page_owned: &[bool]) -> Vec<Vec<bool>> {
    let is_essential = |from, edge| is_essential(snapshot, page_owned, from, edge);
    let of_node = |from: usize| snapshot.nodes[from].edges.iter().map(move |edge| is_essential(from, edge)).collect();
    (0..snapshot.nodes.len()).map(of_node).collect()
}

/// Never essential are weak edges, self edges and, of a WeakMap entry's two edges, the table's. All other edges of the
/// root are. From other nodes, shortcuts are not, nor are edges that enter the page from outside.
fn is_essential(snapshot: &Snapshot, page_owned: &[bool], from: usize, edge: &Edge) -> bool {
    let kind = snapshot.edge_type(edge);
    if kind == "weak" || edge.to == from || is_from_table(snapshot, from, edge) {
        return false;
    }
    let enters_page = page_owned[edge.to] && !page_owned[from];
    from == snapshot.root() || kind != "shortcut" && !enters_page
}

/// Whether this is an internal edge of a WeakMap entry from the entry's table.
fn is_from_table(snapshot: &Snapshot, from: usize, edge: &Edge) -> bool {
    if snapshot.edge_type(edge) != "internal" {
        return false;
    }
    let name = snapshot.edge_name(edge).expect("internal edges have names");
    weakmap::parse(name).is_some_and(|entry| entry.table == snapshot.nodes[from].id as f64)
}
