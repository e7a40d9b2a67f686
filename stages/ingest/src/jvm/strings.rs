//! Strings of the dump, and the byte or character arrays of their texts.
//!
//! A string and its array are separate nodes, so the columns stay within their declared sizes.

use heaplake_kit::{ColumnWriter, Scratch, StageError, create_all, finish_all};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{Column, Per};

/// Nodes that are strings, ascending.
pub(crate) const STRING_NODE: Column<NodeId> = Column::of("jvm.string.node", Per::Node);
/// Their text arrays.
pub(crate) const STRING_VALUE: Column<NodeId> = Column::of("jvm.string.value", Per::Node);
/// Their encoding: [`LATIN_1`], UTF-16, or [`NO_CODER`] if the type of the array determines it.
pub(crate) const STRING_CODER: Column<u8> = Column::of("jvm.string.coder", Per::Node);
/// Arrays of bytes or characters, ascending.
pub(crate) const ARRAY_NODE: Column<NodeId> = Column::of("jvm.array.node", Per::Node);
/// Offsets of their records in the content.
pub(crate) const ARRAY_OFFSET: Column<u64> = Column::of("jvm.array.offset", Per::Node);
/// See [`STRING_CODER`].
pub(crate) const LATIN_1: u8 = 0;
/// See [`STRING_CODER`].
pub(crate) const NO_CODER: u8 = u8::MAX;

/// Writes strings and arrays in the order of the dump.
pub(crate) struct StringsWriter {
    node: ColumnWriter<NodeId>,
    value: ColumnWriter<NodeId>,
    coder: ColumnWriter<u8>,
    array: ColumnWriter<NodeId>,
    offset: ColumnWriter<u64>,
}

impl StringsWriter {
    /// Creates the columns.
    pub(crate) fn create(scratch: &Scratch) -> Result<Self, StageError> {
        let (node, value, coder, array, offset) =
            create_all(scratch, (STRING_NODE, STRING_VALUE, STRING_CODER, ARRAY_NODE, ARRAY_OFFSET))?;
        Ok(Self { node, value, coder, array, offset })
    }

    /// Adds an array of bytes or characters; `offset` is that of its record.
    #[inline]
    pub(crate) fn array(&mut self, node: NodeId, offset: u64) -> Result<(), StageError> {
        self.array.push(node)?;
        self.offset.push(offset)
    }

    /// Adds a string, its text array, and its encoding if it has one.
    #[inline]
    pub(crate) fn push(&mut self, node: NodeId, value: NodeId, coder: Option<u8>) -> Result<(), StageError> {
        self.node.push(node)?;
        self.value.push(value)?;
        self.coder.push(coder.unwrap_or(NO_CODER))
    }

    /// Completes the columns.
    pub(crate) fn finish(self) -> Result<(), StageError> {
        finish_all((self.node, self.value, self.coder, self.array, self.offset))
    }
}
