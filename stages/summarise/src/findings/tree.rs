//! The tree of shortest paths, for single nodes.

use heaplake_kit::{ColumnPoints, Scratch, StageError};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;

/// The tree of shortest paths.
pub struct Tree {
    parent: ColumnPoints<NodeId>,
    label: ColumnPoints<u32>,
}

impl Tree {
    /// Opens the columns, if the run has them.
    pub fn open(scratch: &Scratch) -> Result<Option<Self>, StageError> {
        if !scratch.has(columns::PATH_PARENT) {
            return Ok(None);
        }
        let parent = ColumnPoints::open(scratch, columns::PATH_PARENT)?;
        Ok(Some(Self { parent, label: ColumnPoints::open(scratch, columns::PATH_LABEL)? }))
    }

    /// The node before one on the shortest path.
    pub fn parent(&self, node: u32) -> NodeId {
        self.parent.at(node as usize)
    }

    /// Label of the edge from that one.
    pub fn label(&self, node: u32) -> u32 {
        self.label.at(node as usize)
    }

    /// Lets go of what was looked at so far.
    pub fn release(&self) {
        self.parent.release();
        self.label.release();
    }
}
