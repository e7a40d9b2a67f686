//! Writes the values of nodes, for the table `values`.

use heaplake_kit::{ColumnWriter, Scratch, StageError, StringWriter};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::values::{NO_INDEX, NO_TEXT, VALUE_DEGREE, VALUE_ROW, VALUE_TEXTS, ValueRow, kind};

/// The name of a value: that of a field, or an index.
#[derive(Clone, Copy)]
pub enum Label {
    /// No name.
    None,
    /// The name of a field.
    Name(StringId),
    /// The index of an element.
    Index(u32),
}

/// The values of all nodes, in order.
pub struct ValueWriter {
    degrees: ColumnWriter<u32>,
    rows: ColumnWriter<ValueRow>,
    texts: StringWriter,
    text_count: u64,
    nodes: u64,
    /// Rows of the current node.
    degree: u32,
}

impl ValueWriter {
    /// Columns for all nodes.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            degrees: ColumnWriter::create(scratch, VALUE_DEGREE)?,
            rows: ColumnWriter::create(scratch, VALUE_ROW)?,
            texts: StringWriter::create(scratch, VALUE_TEXTS)?,
            text_count: 0,
            nodes: 0,
            degree: 0,
        })
    }

    /// A value of the current node.
    ///
    /// # Errors
    /// [`StageError::Io`].
    #[inline]
    pub fn value(&mut self, label: Label, kind: u8, bits: u64) -> Result<(), StageError> {
        self.row(label, kind, bits, NodeId::NONE)
    }

    /// A reference of the current node, and the text or number that its target is.
    ///
    /// # Errors
    /// [`StageError::Io`].
    #[inline]
    pub fn reference(&mut self, label: Label, kind: u8, text: StringId, to: NodeId) -> Result<(), StageError> {
        self.row(label, kind, text.get().map_or(NO_TEXT, u64::from), to)
    }

    /// The beginning of an array.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn elements(&mut self, text: Option<&str>) -> Result<(), StageError> {
        let Some(text) = text else { return self.value(Label::None, kind::ELEMENTS, NO_TEXT) };
        self.texts.push(text.as_bytes())?;
        self.text_count += 1;
        self.value(Label::None, kind::ELEMENTS, self.text_count - 1)
    }

    /// Says how many elements or edges have no rows.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn more(&mut self, left_out: u32) -> Result<(), StageError> {
        if left_out == 0 { Ok(()) } else { self.value(Label::None, kind::MORE, left_out.into()) }
    }

    #[inline]
    fn row(&mut self, label: Label, kind: u8, bits: u64, to: NodeId) -> Result<(), StageError> {
        let (name, index) = match label {
            Label::None => (StringId::NONE, NO_INDEX),
            Label::Name(name) => (name, NO_INDEX),
            Label::Index(index) => (StringId::NONE, index),
        };
        self.degree += 1;
        self.rows.push(ValueRow { bits, name, index, to, kind, unused: [0; 3] })
    }

    /// Ends a node.
    ///
    /// # Errors
    /// [`StageError::Io`].
    #[inline]
    pub fn end(&mut self) -> Result<(), StageError> {
        self.nodes += 1;
        self.degrees.push(std::mem::take(&mut self.degree))
    }

    /// Ends all nodes, of which there are so many; the last ones may have no values. Returns the number of values.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(mut self, nodes: u64) -> Result<u64, StageError> {
        while self.nodes < nodes {
            self.end()?;
        }
        self.degrees.finish()?;
        self.texts.finish()?;
        self.rows.finish()
    }
}
