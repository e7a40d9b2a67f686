//! All holders of one object, merged into a tree.

use crate::graph::Graph;
use heaplake_kit::StageError;
use heaplake_kit::retainer_tree::{Batch, Instance, Kind, Limits, grow};
use serde::Serialize;

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
    let trees = grow(graph, &[(&[instance][..], Limits::OF_AN_OBJECT)], Batch::LEAST)?;
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
    Ok(trees.iter().flatten().map(holder).collect())
}
