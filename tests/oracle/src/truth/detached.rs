//! Which DOM nodes are attached to a page, and the effect on names.

use crate::model::Snapshot;
use crate::text::OracleString;

const UNKNOWN: u8 = 0;
const ATTACHED: u8 = 1;
const DETACHED: u8 = 2;

pub(super) struct Detached {
    pub states: Vec<u8>,
    pub names: Vec<OracleString>,
}

/// Without the field, native nodes named `Detached …` are detached and nothing spreads or is renamed. With it, the
/// known states of native nodes spread over native nodes of unknown state (first attached, then detached), and every
/// native node that ends up detached gets the prefix `Detached `, whatever its name.
pub(super) fn propagate(snapshot: &Snapshot) -> Detached {
    let nodes = 0..snapshot.nodes.len();
    let mut names: Vec<OracleString> = nodes.clone().map(|v| snapshot.node_name(v).clone()).collect();
    if !snapshot.fields.detachedness {
        let state = |v| match is_native(snapshot, v) && names[v].starts_with("Detached ") {
            true => DETACHED,
            false => UNKNOWN,
        };
        return Detached { states: nodes.map(state).collect(), names };
    }
    // The field has two bits for the state.
    let mut states: Vec<u8> = snapshot.nodes.iter().map(|node| node.detachedness & 3).collect();
    spread(snapshot, ATTACHED, &mut states);
    spread(snapshot, DETACHED, &mut states);
    for v in nodes.filter(|&v| is_native(snapshot, v) && states[v] == DETACHED) {
        let mut renamed = OracleString::from("Detached ");
        renamed.push(&names[v]);
        names[v] = renamed;
    }
    Detached { states, names }
}

/// Propagates the state of native nodes to their native successors of unknown state, until nothing changes. Weak and
/// hidden edges do not propagate it, nor do those that DevTools calls invisible.
fn spread(snapshot: &Snapshot, state: u8, states: &mut [u8]) {
    let passes = |kind: &str| !["weak", "hidden", "invisible"].contains(&kind);
    let mut changed = true;
    while changed {
        changed = false;
        for (from, edge) in snapshot.edges() {
            let gives = is_native(snapshot, from) && states[from] == state;
            let takes = is_native(snapshot, edge.to) && states[edge.to] == UNKNOWN;
            if gives && takes && passes(snapshot.edge_type(edge)) {
                states[edge.to] = state;
                changed = true;
            }
        }
    }
}

fn is_native(snapshot: &Snapshot, node: usize) -> bool {
    snapshot.node_type(node) == "native"
}
