//! Moves the sizes of parts that belong to one object only to that object.

use super::roots::is_user_root;
use crate::model::Snapshot;
use crate::text::OracleString;

/// The owners of a node found so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    None,
    One(usize),
    Several,
}

impl Owner {
    /// Union of two sets of owners.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, owner) | (owner, Self::None) => owner,
            (Self::One(a), Self::One(b)) if a == b => self,
            _ => Self::Several,
        }
    }
}

/// Sizes after owned nodes gave theirs away: a node with exactly one owner becomes empty and its owner grows, unless
/// that owner is synthetic or the root. Nothing moves in snapshots without a user root, which show V8's internals
/// unchanged.
///
/// `names` are the names after detached nodes were renamed.
pub(super) fn shallow_sizes(snapshot: &Snapshot, names: &[OracleString]) -> Vec<u64> {
    let mut sizes: Vec<u64> = snapshot.nodes.iter().map(|node| node.self_size).collect();
    if !has_user_root(snapshot) {
        return sizes;
    }
    for (part, owner) in owners(snapshot, names).into_iter().enumerate() {
        let Owner::One(owner) = owner else { continue };
        let takes = snapshot.node_type(owner) != "synthetic" && owner != snapshot.root();
        if owner != part && takes {
            sizes[owner] += std::mem::take(&mut sizes[part]);
        }
    }
    sizes
}

/// Whether any edge of the root, weak ones too, leads to a user root.
fn has_user_root(snapshot: &Snapshot) -> bool {
    let root = &snapshot.nodes[snapshot.root()];
    root.edges.iter().any(|edge| is_user_root(snapshot, edge.to))
}

/// Nodes that cannot be owned own themselves; an ownable node belongs to the owners of all nodes that refer to it by
/// edges that are not weak.
fn owners(snapshot: &Snapshot, names: &[OracleString]) -> Vec<Owner> {
    let ownable = |v| is_ownable(snapshot, v, &names[v]);
    let initial = |v| if ownable(v) { Owner::None } else { Owner::One(v) };
    let mut owners: Vec<Owner> = (0..snapshot.nodes.len()).map(initial).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for (from, edge) in snapshot.edges() {
            if ownable(edge.to) && snapshot.edge_type(edge) != "weak" {
                let both = owners[edge.to].and(owners[from]);
                changed |= both != owners[edge.to];
                owners[edge.to] = both;
            }
        }
    }
    owners
}

/// V8's own parts of objects: hidden nodes, arrays, and the bytes of external strings.
fn is_ownable(snapshot: &Snapshot, node: usize, name: &OracleString) -> bool {
    match snapshot.node_type(node) {
        "hidden" | "array" => true,
        "native" => *name == "system / ExternalStringData",
        _ => false,
    }
}
