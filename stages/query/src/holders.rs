//! All holders of one object, merged into a tree, and its shortest paths one by one.

use crate::graph::Graph;
use heaplake_kit::StageError;
use heaplake_kit::retainer_tree::{Instance, Kind, Limits, grow};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// A branch of the tree of all holders of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// 1 for what holds the object directly. A branch comes before those behind it.
    pub level: u32,
    /// `holder`, `root` or `rest`.
    pub kind: &'static str,
    /// Class of the holders; nothing for the rest.
    pub class: Option<String>,
    /// Label of their edges, where it is known.
    pub edge: Option<String>,
    /// How many they are.
    pub holders: u64,
    /// The one that is nearest to the root.
    pub node: u32,
    /// Whether all that holds the object leads through this branch.
    pub alone: bool,
    /// Whether a limit of work left something out.
    pub is_cut: bool,
}

/// The tree of an object.
///
/// # Errors
/// None but those of the tables.
pub(crate) fn tree(graph: &mut Graph, node: u32) -> Result<Vec<Holder>, StageError> {
    let instance = Instance { node, shallow_bytes: 0, retained_bytes: 0 };
    let branches = grow(graph, &[instance], &Limits::OF_AN_OBJECT)?;
    let holder = |branch: &heaplake_kit::retainer_tree::Branch| {
        let is_rest = branch.kind == Kind::Rest;
        Holder {
            level: branch.level,
            kind: match branch.kind {
                Kind::Holder => "holder",
                Kind::Root => "root",
                Kind::Rest => "rest",
            },
            class: (!is_rest).then(|| graph.class_name(branch.class).to_owned()),
            edge: if is_rest { None } else { graph.label(branch.label).map(str::to_owned) },
            holders: branch.holders,
            node: branch.example,
            alone: branch.exclusive.count > 0,
            is_cut: branch.is_cut,
        }
    };
    Ok(branches.iter().map(holder).collect())
}

/// Partial paths that are looked at, at most.
const PARTIAL: usize = 1 << 20;

/// A partial path: its upper end, the partial path below it, its edges, and whether some edge led away from the root.
#[derive(Clone, Copy)]
struct Partial {
    node: u32,
    below: usize,
    edges: i64,
    is_detour: bool,
}

/// The shortest paths from the root or a node at distance 1 to a node, each without a node twice, the shortest first;
/// of equally long ones that over the least nodes from the end up. Whether the search came to its end or found as many
/// as asked for.
///
/// Best first over partial paths that grow upward from the node: the distance of the upper end bounds what is missing.
pub(crate) fn paths(graph: &Graph, node: u32, most: usize) -> (Vec<Vec<u32>>, bool) {
    let mut partial = vec![Partial { node, below: usize::MAX, edges: 0, is_detour: false }];
    let mut queue = BinaryHeap::from([Reverse((0i64, 0usize))]);
    let mut found = Vec::new();
    while let Some(Reverse((_, at))) = queue.pop() {
        let Partial { node: top, edges, is_detour, .. } = partial[at];
        if top == graph.root || (at > 0 && graph.far(top) <= 1 && !reaches_root(graph, top)) {
            found.push(nodes(&partial, at));
            if found.len() == most {
                return (found, true);
            }
            continue;
        }
        let mut above: Vec<u32> = graph.held_by(top).iter().map(|edge| edge.0).collect();
        above.sort_unstable();
        above.dedup();
        if graph.far(top) <= 1 && at > 0 {
            above.retain(|&node| node == graph.root);
        }
        let passed: BTreeSet<u32> = if is_detour || above.iter().any(|&node| graph.far(node) >= graph.far(top)) {
            nodes(&partial, at).into_iter().collect()
        } else {
            BTreeSet::new()
        };
        for node in above {
            if graph.far(node) == i32::MAX || passed.contains(&node) {
                continue;
            }
            if partial.len() == PARTIAL {
                return (found, false);
            }
            let is_detour = is_detour || graph.far(node) >= graph.far(top);
            queue.push(Reverse((edges + 1 + i64::from(graph.far(node)), partial.len())));
            partial.push(Partial { node, below: at, edges: edges + 1, is_detour });
        }
    }
    (found, true)
}

/// Whether the root, at distance 0, holds a node.
fn reaches_root(graph: &Graph, node: u32) -> bool {
    graph.far(graph.root) == 0 && graph.held_by(node).iter().any(|edge| edge.0 == graph.root)
}

/// The nodes of a partial path, from its upper end.
fn nodes(partial: &[Partial], at: usize) -> Vec<u32> {
    std::iter::successors(partial.get(at), |path| partial.get(path.below)).map(|path| path.node).collect()
}
