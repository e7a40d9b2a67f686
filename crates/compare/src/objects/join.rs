//! Merge-joins the nodes of two snapshots by id and class.

use bytemuck::{Pod, Zeroable};
use heaplake_kit::StageError;
use heaplake_kit::sorter::Sorted;

/// A node, in sort order of its identity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Node {
    /// Identity of the object.
    pub id: u64,
    /// Class number.
    pub class: u32,
    /// 1 if it counts for no class.
    pub hidden: u32,
    /// Row in `nodes`.
    pub node: u32,
    /// Kind number.
    pub kind: u32,
    /// Shallow size in bytes.
    pub shallow: u64,
    /// Retained size in bytes.
    pub retained: u64,
}

impl Node {
    fn key(&self) -> (u64, u32, u32) {
        (self.id, self.class, self.hidden)
    }
}

/// A result of the join; at least one node is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Joined {
    /// Node in the base.
    pub base: Option<Node>,
    /// Node in the target.
    pub target: Option<Node>,
    /// Whether both snapshots have a node with this id.
    pub in_both: bool,
}

/// One input: the next node, and the id of the last one.
struct Cursor<'a> {
    nodes: Sorted<'a, Node>,
    next: Option<Node>,
    last: Option<u64>,
}

impl<'a> Cursor<'a> {
    fn new(mut nodes: Sorted<'a, Node>) -> Result<Self, StageError> {
        let next = nodes.pop()?;
        Ok(Self { nodes, next, last: None })
    }

    fn take(&mut self) -> Result<Option<Node>, StageError> {
        let taken = self.next;
        self.last = taken.map(|node| node.id);
        self.next = self.nodes.pop()?;
        Ok(taken)
    }

    /// Whether this input has the id that the other one is at.
    fn has(&self, id: u64) -> bool {
        self.last == Some(id) || self.next.is_some_and(|node| node.id == id)
    }
}

/// Passes all nodes to `each`, pairing those with equal id and class. Duplicates within a side pair up in order.
pub(super) fn join(
    base: Sorted<'_, Node>,
    target: Sorted<'_, Node>,
    mut each: impl FnMut(Joined) -> Result<(), StageError>,
) -> Result<(), StageError> {
    let (mut base, mut target) = (Cursor::new(base)?, Cursor::new(target)?);
    loop {
        let order = match (&base.next, &target.next) {
            (None, None) => return Ok(()),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(old), Some(new)) => old.key().cmp(&new.key()),
        };
        let old = if order.is_le() { base.take()? } else { None };
        let new = if order.is_ge() { target.take()? } else { None };
        let in_both = match (old, new) {
            (Some(old), None) => target.has(old.id),
            (None, Some(new)) => base.has(new.id),
            _ => true,
        };
        each(Joined { base: old, target: new, in_both })?;
    }
}
