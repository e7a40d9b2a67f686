//! Meanings of references for the equality of objects, found in the first pass and stored for the second. Used by
//! [`super::equality`].
//!
//! Resident memory: none. Disk: a byte per reference.

use super::layouts::Position;
use super::references::References;
use heaplake_kit::{Bitset, ColumnReader, ColumnWriter, Scratch, StageError};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::Column;

/// Meaning of a reference for the equality of its source.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// The reference is null.
    Null,
    /// The dump has no object at the address.
    Gone,
    /// The target is compared by identity.
    Identity,
    /// The target is compared by value.
    Followed,
}

const MEANINGS: [Meaning; 4] = [Meaning::Null, Meaning::Gone, Meaning::Identity, Meaning::Followed];

/// Meanings of all references of objects that are not compared by identity, in order, from the first pass to the
/// second.
pub(super) const REFERENCES: Column<u8> = Column::new("equality.references");

/// Source of the meanings of references in a pass.
pub(super) trait Meanings {
    /// Advances to an object of this class.
    fn object(&mut self, _node: u32, _class: Position) -> Result<(), StageError> {
        Ok(())
    }

    /// Returns the meaning of the next reference, and the target if this pass finds it.
    fn next(&mut self, address: u64) -> Result<(Meaning, NodeId), StageError>;

    /// Skips `count` references.
    fn skip(&mut self, count: u64) -> Result<(), StageError>;
}

/// The first pass, which reads the targets.
pub(super) struct TargetReader<'a> {
    references: References,
    opaque: &'a Bitset,
    meanings: ColumnWriter<u8>,
}

impl<'a> TargetReader<'a> {
    /// Starts without meanings.
    pub(super) fn new(references: References, opaque: &'a Bitset, scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self { references, opaque, meanings: ColumnWriter::create(scratch, REFERENCES)? })
    }

    /// Completes the meanings for the second pass.
    pub(super) fn finish(self) -> Result<(), StageError> {
        self.meanings.finish().map(drop)
    }
}

impl Meanings for TargetReader<'_> {
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

/// The second pass, which reads the stored meanings.
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
