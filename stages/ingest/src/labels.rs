//! Labels of essential edges, for chains: one byte per edge.
//!
//! Most edges leave instances; the class and the position of the field among its references give their label. Other
//! labels go to a separate column of names.

use heaplake_kit::{ColumnWriter, Scratch, StageError, create_all};
use heaplake_schemas::chains::label;
use heaplake_schemas::scratch::{self as columns, edge_label};

/// The label of an edge.
#[derive(Clone, Copy)]
pub(crate) enum Label {
    /// No label.
    Unnamed,
    /// The edge from an object to its class.
    Class,
    /// A reference of an instance, by its position.
    Slot(usize),
    /// An element of an array.
    Element,
    /// A string id.
    Named(u32),
}

/// Writes the labels of essential edges.
pub(crate) struct LabelWriter {
    labels: ColumnWriter<u8>,
    names: ColumnWriter<u32>,
}

impl LabelWriter {
    /// Creates the columns.
    pub(crate) fn create(scratch: &Scratch) -> Result<Self, StageError> {
        let (labels, names) = create_all(scratch, (columns::ESSENTIAL_LABEL, columns::ESSENTIAL_NAME))?;
        Ok(Self { labels, names })
    }

    /// Adds the label of the next essential edge. `name` returns the name of a reference; it is called only for slots
    /// beyond those that one byte can hold.
    #[inline]
    pub(crate) fn push(&mut self, label: Label, name: impl FnOnce() -> u32) -> Result<(), StageError> {
        let named = match label {
            // The class comes before the references.
            Label::Class => return self.labels.push(0),
            Label::Slot(slot) if slot + 1 < usize::from(edge_label::LEAST) => return self.labels.push(slot as u8 + 1),
            Label::Element => return self.labels.push(edge_label::INDEX),
            Label::Slot(_) => name(),
            Label::Unnamed => label::NONE,
            Label::Named(name) => name,
        };
        self.labels.push(edge_label::NAMED)?;
        self.names.push(named)
    }

    /// Completes the columns.
    pub(crate) fn finish(self) -> Result<(), StageError> {
        self.labels.finish()?;
        self.names.finish().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::ColumnMap;

    #[test]
    fn what_has_no_byte_of_its_own_has_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let mut labels = LabelWriter::create(&scratch).unwrap();
        let pushed = [
            Label::Class,
            Label::Slot(0),
            Label::Slot(252),
            Label::Slot(253),
            Label::Slot(70_000),
            Label::Element,
            Label::Unnamed,
            Label::Named(5),
        ];
        for (at, &label) in pushed.iter().enumerate() {
            labels.push(label, || 100 + at as u32).unwrap();
        }
        labels.finish().unwrap();
        let bytes = ColumnMap::uncounted(&scratch, columns::ESSENTIAL_LABEL).unwrap();
        assert_eq!(bytes[..], [0, 1, 253, 255, 255, 254, 255, 255]);
        let names = ColumnMap::uncounted(&scratch, columns::ESSENTIAL_NAME).unwrap();
        assert_eq!(names[..], [103, 104, label::NONE, 5]);
    }
}
