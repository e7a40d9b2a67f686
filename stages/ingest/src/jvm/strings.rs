//! Strings of the dump, and the arrays of bytes or characters that are their texts.
//!
//! A string and the array of its text are two nodes, so that the columns take no more than is declared.

use heaplake_kit::access::{Access, column};
use heaplake_kit::{ColumnWriter, Scratch, StageError};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{Column, Per};

/// Nodes that are strings, ascending.
pub const STRING_NODE: Column<NodeId> = Column::of("jvm.string.node", Per::Node);
/// The arrays of their text.
pub const STRING_VALUE: Column<NodeId> = Column::of("jvm.string.value", Per::Node);
/// How it is encoded there: [`LATIN_1`], or UTF-16; [`NO_CODER`] where the array's type says it.
pub const STRING_CODER: Column<u8> = Column::of("jvm.string.coder", Per::Node);
/// Arrays of bytes or characters, ascending.
pub const ARRAY_NODE: Column<NodeId> = Column::of("jvm.array.node", Per::Node);
/// Where their records begin in the content.
pub const ARRAY_OFFSET: Column<u64> = Column::of("jvm.array.offset", Per::Node);
/// See [`STRING_CODER`].
pub const LATIN_1: u8 = 0;
/// See [`STRING_CODER`].
pub const NO_CODER: u8 = u8::MAX;

/// All of them, for the declaration of a stage.
pub const COLUMNS: [Access; 5] =
    [column(STRING_NODE), column(STRING_VALUE), column(STRING_CODER), column(ARRAY_NODE), column(ARRAY_OFFSET)];

/// Writes the strings as they come.
pub struct StringsWriter {
    node: ColumnWriter<NodeId>,
    value: ColumnWriter<NodeId>,
    coder: ColumnWriter<u8>,
    array: ColumnWriter<NodeId>,
    offset: ColumnWriter<u64>,
}

impl StringsWriter {
    /// Begins without any.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            node: ColumnWriter::create(scratch, STRING_NODE)?,
            value: ColumnWriter::create(scratch, STRING_VALUE)?,
            coder: ColumnWriter::create(scratch, STRING_CODER)?,
            array: ColumnWriter::create(scratch, ARRAY_NODE)?,
            offset: ColumnWriter::create(scratch, ARRAY_OFFSET)?,
        })
    }

    /// An array of bytes or characters, and where its record begins.
    ///
    /// # Errors
    /// [`StageError::Io`].
    #[inline]
    pub fn array(&mut self, node: NodeId, offset: u64) -> Result<(), StageError> {
        self.array.push(node)?;
        self.offset.push(offset)
    }

    /// A string, the array of its text, and how that is encoded, where it says so.
    ///
    /// # Errors
    /// [`StageError::Io`].
    #[inline]
    pub fn push(&mut self, node: NodeId, value: NodeId, coder: Option<u8>) -> Result<(), StageError> {
        self.node.push(node)?;
        self.value.push(value)?;
        self.coder.push(coder.unwrap_or(NO_CODER))
    }

    /// Ends the columns.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(self) -> Result<(), StageError> {
        self.node.finish()?;
        self.value.finish()?;
        self.coder.finish()?;
        self.array.finish()?;
        self.offset.finish().map(drop)
    }
}
