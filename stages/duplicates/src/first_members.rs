//! The set of each node, and the first member of each set.

use heaplake_kit::{Array, ColumnReader, ReadAt, Scratch, StageError, WriteAt};
use heaplake_schemas::ids::{NodeId, SetId};
use heaplake_schemas::scratch::{self as columns, limits};

/// The first member of a set, and the position of its members; no node for sets with uncompared references.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Set {
    pub start: u64,
    pub first: NodeId,
    pub members: u32,
}

impl Set {
    pub(crate) const NONE: Self = Self { start: 0, first: NodeId::NONE, members: 0 };
}

pub(crate) fn count(scratch: &Scratch) -> Result<usize, StageError> {
    Ok(ColumnReader::open(scratch, columns::SET_ROW)?.remaining() as usize)
}

pub(crate) fn read(sets: &mut Array<Set>, scratch: &Scratch) -> Result<(), StageError> {
    let mut rows = ColumnReader::open(scratch, columns::SET_ROW)?;
    let mut start = 0;
    for set in 0..sets.count() {
        let row = rows.next()?;
        if row.reasons & (limits::MODE | limits::WORK) == 0 {
            sets.set(set, Set { start, first: row.example, members: row.members })?;
        }
        start += u64::from(row.members);
    }
    Ok(())
}

/// The arrays: the set of each node, and the sets.
pub(crate) struct FirstMembers<O, S> {
    set_of: O,
    sets: S,
}

impl<O: ReadAt<SetId>, S: ReadAt<Set>> FirstMembers<O, S> {
    pub(crate) fn new(set_of: O, sets: S) -> Self {
        Self { set_of, sets }
    }

    /// The set of a node, if its references were compared.
    #[inline]
    fn set(&mut self, node: NodeId) -> Result<Option<(SetId, Set)>, StageError> {
        let id = self.set_of.get(node.index())?;
        if id.is_none() {
            return Ok(None);
        }
        let set = self.sets.get(id.index())?;
        Ok((!set.first.is_none()).then_some((id, set)))
    }

    /// The first member of the set of a node.
    #[inline]
    pub(crate) fn of_set(&mut self, node: NodeId) -> Result<Option<NodeId>, StageError> {
        Ok(self.set(node)?.map(|(_, set)| set.first))
    }

    /// The node to which references to a node are redirected: the first member of its set, or the node itself.
    #[inline]
    pub(crate) fn lead(&mut self, node: NodeId) -> Result<NodeId, StageError> {
        Ok(self.of_set(node)?.unwrap_or(node))
    }

    /// The set that starts with a node, if any.
    #[inline]
    pub(crate) fn begun_by(&mut self, node: NodeId) -> Result<Option<(SetId, Set)>, StageError> {
        Ok(self.set(node)?.filter(|(_, set)| set.first == node))
    }
}
