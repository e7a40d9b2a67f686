//! Writer of the values of nodes, for the table `values`.

use heaplake_kit::{ColumnWriter, Scratch, StageError, StringWriter, finish_all};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::values::{NO_INDEX, NO_TEXT, VALUE_DEGREE, VALUE_ROW, VALUE_TEXTS, ValueRow, kind};

/// Cuts a text to `most` characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Name of a value: a field name or an index.
#[derive(Clone, Copy)]
pub(crate) enum Label {
    /// No name.
    None,
    /// A field name.
    Name(StringId),
    /// Index of an element.
    Index(u32),
}

/// Writes the values of all nodes, in node order.
pub(crate) struct ValueWriter {
    degrees: ColumnWriter<u32>,
    rows: ColumnWriter<ValueRow>,
    texts: StringWriter,
    text_count: u64,
    nodes: u64,
    /// Rows of the current node.
    degree: u32,
}

impl ValueWriter {
    /// Creates the columns.
    pub(crate) fn create(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            degrees: ColumnWriter::create(scratch, VALUE_DEGREE)?,
            rows: ColumnWriter::create(scratch, VALUE_ROW)?,
            texts: StringWriter::create(scratch, VALUE_TEXTS)?,
            text_count: 0,
            nodes: 0,
            degree: 0,
        })
    }

    /// Adds a value of the current node.
    #[inline]
    pub(crate) fn value(&mut self, label: Label, kind: u8, bits: u64) -> Result<(), StageError> {
        self.row(label, kind, bits, NodeId::NONE)
    }

    /// Adds a reference of the current node, with the text or number that its target represents.
    #[inline]
    pub(crate) fn reference(&mut self, label: Label, kind: u8, text: StringId, to: NodeId) -> Result<(), StageError> {
        self.row(label, kind, text.get().map_or(NO_TEXT, u64::from), to)
    }

    /// Marks the beginning of an array.
    pub(crate) fn elements(&mut self, text: Option<&str>) -> Result<(), StageError> {
        let Some(text) = text else { return self.value(Label::None, kind::ELEMENTS, NO_TEXT) };
        self.texts.push(text.as_bytes())?;
        self.text_count += 1;
        self.value(Label::None, kind::ELEMENTS, self.text_count - 1)
    }

    /// Records the number of elements or edges without rows.
    pub(crate) fn more(&mut self, left_out: u32) -> Result<(), StageError> {
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

    /// Completes a node.
    #[inline]
    pub(crate) fn end(&mut self) -> Result<(), StageError> {
        self.nodes += 1;
        self.degrees.push(std::mem::take(&mut self.degree))
    }

    /// Completes all `nodes`; the last ones may have no values. Returns the number of values.
    pub(crate) fn finish(mut self, nodes: u64) -> Result<u64, StageError> {
        while self.nodes < nodes {
            self.end()?;
        }
        finish_all((self.degrees, self.texts))?;
        self.rows.finish()
    }
}
