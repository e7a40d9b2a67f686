//! Chrome DevTools' results for a snapshot.
//!
//! One file per group of rules; each function's comment states its rule. The rules build on each other in this order:
//! detachedness (which renames nodes), essential edges, shallow sizes, distances, class names, dominators and retained
//! sizes, class rows.
//!
//! The examples `write_random` and `check_golden` check them against DevTools itself, on real snapshots and on tens of
//! thousands of random ones. The only differences:
//!
//! * Strings are compared by content here. DevTools compares positions in the string table: when a class name is
//!   repeated there, or a node is named like a class that DevTools makes up (`(system)`, `Function`, `{a, b}`), it keeps one of
//!   the rows with that key and loses the others.
//! * DevTools has no answer (it throws) if the root is neither first nor last, or has so many edges to the same user
//!   root that its queue overflows; and it never ends on some unreachable concatenated strings. Here the rules are just
//!   applied.
//! * DevTools' shallow sizes have 32 bits and wrap around; here they do not.

mod answers;
mod chains;
mod detached;
mod distance;
mod dominated;
mod essential;
mod interfaces;
mod names;
mod owned;
mod roots;
mod rows;
mod weakmap;

use crate::graph::{Arc, dominators_by_deletion};
use crate::model::Snapshot;

pub use answers::{ClassRow, NodeTruth, Truth};
pub use chains::{Chain, chains};
pub use distance::SYSTEM_DISTANCE;

/// Computes everything, dominators by deletion.
pub fn truth(snapshot: &Snapshot) -> Truth {
    truth_with(snapshot, dominators_by_deletion)
}

/// Computes everything with another dominator algorithm, for snapshots too big for deletion. It takes the number of
/// nodes, the edges and the root, and must return the same as [`dominators_by_deletion`].
pub fn truth_with(snapshot: &Snapshot, dominators: impl Fn(usize, &[Arc], u32) -> Vec<Option<u32>>) -> Truth {
    let detached::Detached { states, names } = detached::propagate(snapshot);
    let page_owned = essential::page_owned(snapshot);
    let essential = essential::edges(snapshot, &page_owned);
    let shallow = owned::shallow_sizes(snapshot, &names);
    let native: Vec<u64> = snapshot.nodes.iter().map(|node| node.native_size).collect();
    let distances = distance::distances(snapshot);
    let class_names = names::class_names(snapshot, &names);
    let class_keys = names::class_keys(snapshot, &class_names);
    let dominator = dominated::dominators(snapshot, &essential, dominators);
    let retained = dominated::retained(&dominator, &shallow);
    let retained_native = dominated::retained(&dominator, &native);
    let retainer_counts = retainer_counts(snapshot);
    let nodes: Vec<NodeTruth> = (0..snapshot.nodes.len())
        .map(|v| NodeTruth {
            shallow: shallow[v],
            retained: retained[v],
            retained_native: retained_native[v],
            distance: distances[v],
            dominator: dominator[v],
            name: names[v].clone(),
            class_name: names::shown(&class_names[v]),
            class_key: class_keys[v].clone(),
            detachedness: states[v],
            retainer_count: retainer_counts[v],
            page_owned: page_owned[v],
        })
        .collect();
    Truth { classes: rows::class_rows(&nodes), nodes, essential }
}

/// Every edge makes its source a retainer of its target: weak ones, self edges and repetitions too.
fn retainer_counts(snapshot: &Snapshot) -> Vec<usize> {
    let mut counts = vec![0; snapshot.nodes.len()];
    for (_, edge) in snapshot.edges() {
        counts[edge.to] += 1;
    }
    counts
}
