//! The tree of shortest paths, for single nodes.

use heaplake_kit::{ColumnPoints, Scratch, StageError};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;

pub(super) struct Tree {
    parent: ColumnPoints<NodeId>,
    label: ColumnPoints<u32>,
}

impl Tree {
    pub(super) fn open(scratch: &Scratch) -> Result<Option<Self>, StageError> {
        if !scratch.has(columns::PATH_PARENT) {
            return Ok(None);
        }
        let parent = ColumnPoints::open(scratch, columns::PATH_PARENT)?;
        Ok(Some(Self { parent, label: ColumnPoints::open(scratch, columns::PATH_LABEL)? }))
    }

    /// The parent of a node on its shortest path.
    pub(super) fn parent(&self, node: u32) -> NodeId {
        self.parent.at(node as usize)
    }

    /// Label of the edge from the parent.
    pub(super) fn label(&self, node: u32) -> u32 {
        self.label.at(node as usize)
    }

    /// Releases the pages read so far.
    pub(super) fn release(&self) {
        self.parent.release();
        self.label.release();
    }
}
