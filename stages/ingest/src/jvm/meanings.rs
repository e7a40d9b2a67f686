//! What references mean for the equality of objects, found in a first pass and remembered in a second. Used by
//! [`super::equality`].
//!
//! Resident memory: none. Disk: a byte per reference.

use super::layouts::Position;
use super::references::References;
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

/// Meanings of all references of objects that are not compared by identity, in order, between the passes.
pub(super) const REFERENCES: Column<u8> = Column::new("equality.references");

/// Where a pass has the meanings of references from.
pub(super) trait Meanings {
    /// Goes on to an object of this class.
    fn object(&mut self, _node: u32, _class: Position) -> Result<(), StageError> {
        Ok(())
    }

    /// What its next reference means, and the target where this pass finds that.
    fn next(&mut self, address: u64) -> Result<(Meaning, NodeId), StageError>;

    /// Leaves out so many.
    fn skip(&mut self, count: u64) -> Result<(), StageError>;
}

/// The first pass: it goes through the targets.
pub(super) struct Found<'a> {
    references: References,
    opaque: &'a Bitset,
    meanings: ColumnWriter<u8>,
}

impl<'a> Found<'a> {
    /// Nothing was found yet.
    pub(super) fn new(references: References, opaque: &'a Bitset, scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self { references, opaque, meanings: ColumnWriter::create(scratch, REFERENCES)? })
    }

    /// Leaves the meanings to the second pass.
    pub(super) fn finish(self) -> Result<(), StageError> {
        self.meanings.finish().map(drop)
    }
}

impl Meanings for Found<'_> {
    #[inline]
    fn object(&mut self, node: u32, class: Position) -> Result<(), StageError> {
        self.references.object(node, class)
    }

    #[inline]
    fn next(&mut self, address: u64) -> Result<(Meaning, NodeId), StageError> {
        if address == 0 {
            self.references.null();
            self.meanings.push(Meaning::Null as u8)?;
            return Ok((Meaning::Null, NodeId::NONE));
        }
        let target = self.references.next()?;
        let meaning = match target {
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
