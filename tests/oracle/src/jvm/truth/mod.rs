//! Eclipse MAT's results for a dump, and heaplake's additions to them.
//!
//! One file per group of rules: [`layout`] (shallow sizes), [`edges`], [`names`], [`threads`], [`rows`]. The example
//! `check_mat` checks them against MAT itself on real dumps.

pub mod edges;
mod index;
pub mod layout;
pub mod names;
mod node;
pub mod rows;
mod spelling;
pub mod threads;

use super::model::Dump;
use crate::graph::{Arc, dominators_by_deletion, reachable};
use index::Index;
use std::collections::BTreeMap;

pub use edges::Referents;
pub use index::ClassId;
pub use node::NodeTruth;
pub use rows::ClassRow;
pub use threads::ThreadTruth;

/// Expected results for a dump.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// The root first, then everything by address: MAT's placeholder of the boot loader at 0, classes, objects.
    pub nodes: Vec<NodeTruth>,
    /// Rows of classes with a reachable object.
    pub classes: BTreeMap<ClassId, ClassRow>,
    /// Threads by their nodes.
    pub threads: Vec<ThreadTruth>,
}

/// Computes everything, dominators by deletion.
pub fn truth(dump: &Dump, referents: Referents) -> Truth {
    truth_with(dump, referents, dominators_by_deletion)
}

/// Computes everything with another dominator algorithm, for dumps too big for deletion.
pub fn truth_with(
    dump: &Dump,
    referents: Referents,
    dominators: impl Fn(usize, &[Arc], u32) -> Vec<Option<u32>>,
) -> Truth {
    let index = Index::new(dump);
    let sizes = layout::Sizes::new(&index);
    let texts = names::texts(&index);
    let mut nodes: Vec<NodeTruth> = index
        .nodes
        .iter()
        .map(|node| NodeTruth {
            address: node.address(),
            kind: node.kind(),
            class: index.class_of(node),
            class_name: index.class_of(node).map_or(String::new(), |class| index.class_name(class)),
            name: node.address().and_then(|address| texts.get(&address).cloned()),
            shallow: sizes.shallow(&index, node),
            retained: 0,
            dominator: None,
            distance: None,
            weakly: false,
            edges: sorted(edges::edges(&index, node, referents)),
        })
        .collect();
    let arcs: Vec<Arc> = (0..nodes.len() as u32)
        .flat_map(|from| nodes[from as usize].edges.iter().map(move |&(to, holds)| (from, to as u32, holds)))
        .filter_map(|(from, to, holds)| holds.then_some((from, to)))
        .collect();
    let dominator = dominators(nodes.len(), &arcs, 0);
    let avoided: Vec<Arc> = index
        .nodes
        .iter()
        .zip(0..)
        .filter_map(|(node, from)| Some((from, edges::referent_of(&index, node, referents)? as u32)))
        .filter(|arc| arcs.contains(arc))
        .collect();
    let mut strong = arcs.clone();
    for arc in &avoided {
        let at = strong.iter().position(|other| other == arc).expect("one of the edges");
        strong.remove(at);
    }
    let reached = crate::graph::reachable(nodes.len(), &strong, 0, None);
    let distance = crate::graph::distances_avoiding(nodes.len(), &strong, &avoided, 0);
    let retained = retained(&dominator, &arcs, &nodes);
    for (v, node) in nodes.iter_mut().enumerate() {
        node.dominator = dominator[v].map(|dominator| dominator as usize);
        node.distance = distance[v];
        node.weakly = distance[v].is_some() && !reached[v];
        node.retained = retained[v];
    }
    Truth { classes: rows::class_rows(&nodes), threads: threads::threads(&index, &nodes), nodes }
}

fn sorted(mut targets: Vec<(usize, bool)>) -> Vec<(usize, bool)> {
    targets.sort_unstable();
    targets
}

/// Sums over each node's dominator subtree.
fn retained(dominator: &[Option<u32>], arcs: &[Arc], nodes: &[NodeTruth]) -> Vec<u64> {
    let reached = reachable(nodes.len(), arcs, 0, None);
    let mut sums = vec![0; nodes.len()];
    for v in (0..nodes.len()).filter(|&v| reached[v]) {
        let mut above = v;
        loop {
            sums[above] += nodes[v].shallow;
            let next = dominator[above].expect("reachable nodes have dominators") as usize;
            if next == above {
                break;
            }
            above = next;
        }
    }
    sums
}
