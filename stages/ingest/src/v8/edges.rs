//! Edges in the order of the file.

use heaplake_kit::{ColumnReader, Scratch, StageError, open_all};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;

/// An edge of a node.
#[derive(Clone, Copy)]
pub struct Edge {
    /// Kind.
    pub kind: u8,
    /// A string id or a position.
    pub name: u32,
    /// Its target.
    pub to: NodeId,
}

/// Reads the edges of all nodes.
pub(super) struct Edges {
    kinds: ColumnReader<u8>,
    names: ColumnReader<u32>,
    targets: ColumnReader<NodeId>,
    /// Position of the next edge.
    pub position: u64,
}

impl Edges {
    /// Starts at the first edge.
    pub(super) fn open(scratch: &Scratch) -> Result<Self, StageError> {
        let (kinds, names, targets) = open_all(scratch, (columns::EDGE_KIND, columns::EDGE_NAME, columns::EDGE_TO))?;
        Ok(Self { kinds, names, targets, position: 0 })
    }

    /// Returns the next edge.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Edge, StageError> {
        self.position += 1;
        Ok(Edge { kind: self.kinds.next()?, name: self.names.next()?, to: self.targets.next()? })
    }

    /// Skips `count` edges.
    pub(super) fn skip(&mut self, count: u64) -> Result<(), StageError> {
        self.position += count;
        self.kinds.skip(count)?;
        self.names.skip(count)?;
        self.targets.skip(count)
    }

    /// Appends the next `count` edges to columns.
    pub(super) fn append_to(
        &mut self,
        (kinds, names, targets): (&mut Vec<u8>, &mut Vec<u32>, &mut Vec<NodeId>),
        count: usize,
    ) -> Result<(), StageError> {
        self.position += count as u64;
        self.kinds.append_to(kinds, count)?;
        self.names.append_to(names, count)?;
        self.targets.append_to(targets, count)
    }
}
