//! All holders of one object, merged into a tree.

use crate::graph::Graph;
use heaplake_kit::StageError;
use heaplake_paths::retainer_tree::{Batch, Instance, Kind, Limits, grow};
use schemars::JsonSchema;
use serde::Serialize;

/// A branch of the tree of holders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Holder {
    /// Depth; 1 for direct holders. Branches are in preorder.
    pub level: u32,
    /// `holder`, `root` or `rest`.
    pub kind: &'static str,
    /// Class of the holders; `None` for the rest.
    pub class: Option<String>,
    /// Label of their edges, if known.
    pub edge: Option<String>,
    /// Number of holders.
    pub holders: u64,
    /// The holder nearest to the root.
    pub node: u32,
    /// Whether all paths from the root to the object pass through this branch.
    pub alone: bool,
    /// Whether a work limit cut something off.
    pub is_cut: bool,
}

/// Builds the holder tree of an object.
pub(crate) fn tree(graph: &mut Graph, node: u32) -> Result<Vec<Holder>, StageError> {
    let instance = Instance { node, shallow_bytes: 0, retained_bytes: 0 };
    let trees = grow(graph, &[(&[instance][..], Limits::OF_AN_OBJECT)], Batch::LEAST)?;
    let holder = |branch: &heaplake_paths::retainer_tree::Branch| {
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
