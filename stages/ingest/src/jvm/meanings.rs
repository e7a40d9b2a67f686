//! What references mean for the equality of objects, found in a first pass and remembered in a second. Used by
//! [`super::equality`].
//!
//! Resident memory: the index, in the first pass. Disk: a byte per reference.

use crate::index::{Find, Index};
use heaplake_kit::{Bitset, ColumnReader, ColumnWriter, Scratch, StageError};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::Column;

/// What a reference means for the equality of its source.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// There is none.
    Null,
    /// Nothing is there.
    Gone,
    /// The target is compared by identity.
    Identity,
    /// The target is compared by value.
    Followed,
}

const MEANINGS: [Meaning; 4] = [Meaning::Null, Meaning::Gone, Meaning::Identity, Meaning::Followed];

/// Meanings of all references of objects that are not compared by identity, in order, between the passes: finding a
/// target takes far longer.
pub(super) const REFERENCES: Column<u8> = Column::new("equality.references");

/// Where a pass has the meanings of references from.
pub(super) trait Meanings {
    /// What the next reference means, and its target where this pass finds that.
    fn next(&mut self, address: u64) -> Result<(Meaning, NodeId), StageError>;

    /// Leaves out so many.
    fn skip(&mut self, count: u64) -> Result<(), StageError>;
}

/// The first pass: it looks for each target.
pub(super) struct Found<'a> {
    index: Index,
    opaque: &'a Bitset,
    meanings: ColumnWriter<u8>,
}

impl<'a> Found<'a> {
    /// Nothing was found yet.
    pub(super) fn new(index: Index, opaque: &'a Bitset, scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self { index, opaque, meanings: ColumnWriter::create(scratch, REFERENCES)? })
    }

    /// Leaves the meanings to the second pass, and gives up the index.
    pub(super) fn finish(self) -> Result<(), StageError> {
        self.meanings.finish().map(drop)
    }
}

impl Meanings for Found<'_> {
    #[inline]
    fn next(&mut self, address: u64) -> Result<(Meaning, NodeId), StageError> {
        let target = if address == 0 { None } else { self.index.find(address)? };
        let meaning = match target {
            None if address == 0 => Meaning::Null,
            None => Meaning::Gone,
            Some(node) if self.opaque.contains(node.index()) => Meaning::Identity,
            Some(_) => Meaning::Followed,
        };
        self.meanings.push(meaning as u8)?;
        Ok((meaning, target.unwrap_or(NodeId::NONE)))
    }

    fn skip(&mut self, _count: u64) -> Result<(), StageError> {
        Ok(())
    }
}

/// The second pass.
impl Meanings for ColumnReader<u8> {
    #[inline]
    fn next(&mut self, _address: u64) -> Result<(Meaning, NodeId), StageError> {
        let meaning = self.next()?;
        Ok((MEANINGS[usize::from(meaning) % MEANINGS.len()], NodeId::NONE))
    }

    fn skip(&mut self, count: u64) -> Result<(), StageError> {
        self.skip(count)
    }
}
