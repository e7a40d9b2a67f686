//! How the edges that hold are called, for chains, in a byte each: most edges come from instances, and there the class
//! and the position of a field among its references say it. Others have a name of their own.

use heaplake_kit::{ColumnWriter, Scratch, StageError};
use heaplake_schemas::chains::label;
use heaplake_schemas::scratch::{self as columns, edge_label};

/// What leads from a node to another.
#[derive(Clone, Copy)]
pub enum Way {
    /// Nothing that has a name.
    Unnamed,
    /// The edge from an object to its class.
    Class,
    /// A reference of an instance, by its position among them.
    Slot(usize),
    /// An element of an array.
    Element,
    /// A string id.
    Named(u32),
}

/// The columns of ways.
pub struct Ways {
    way: ColumnWriter<u8>,
    name: ColumnWriter<u32>,
}

impl Ways {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            way: ColumnWriter::create(scratch, columns::ESSENTIAL_LABEL)?,
            name: ColumnWriter::create(scratch, columns::ESSENTIAL_NAME)?,
        })
    }

    /// That of the next essential edge. `name` is that of a reference, for the last ones of a class that has very many.
    ///
    /// # Errors
    /// [`StageError::Io`].
    #[inline]
    pub fn push(&mut self, way: Way, name: impl FnOnce() -> u32) -> Result<(), StageError> {
        let named = match way {
            // The class comes before the references.
            Way::Class => return self.way.push(0),
            Way::Slot(slot) if slot + 1 < usize::from(edge_label::LEAST) => return self.way.push(slot as u8 + 1),
            Way::Element => return self.way.push(edge_label::INDEX),
            Way::Slot(_) => name(),
            Way::Unnamed => label::NONE,
            Way::Named(name) => name,
        };
        self.way.push(edge_label::NAMED)?;
        self.name.push(named)
    }

    /// Ends the columns.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(self) -> Result<(), StageError> {
        self.way.finish()?;
        self.name.finish().map(drop)
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
        let mut ways = Ways::create(&scratch).unwrap();
        let pushed = [
            Way::Class,
            Way::Slot(0),
            Way::Slot(252),
            Way::Slot(253),
            Way::Slot(70_000),
            Way::Element,
            Way::Unnamed,
            Way::Named(5),
        ];
        for (at, &way) in pushed.iter().enumerate() {
            ways.push(way, || 100 + at as u32).unwrap();
        }
        ways.finish().unwrap();
        let bytes = ColumnMap::open(&scratch, columns::ESSENTIAL_LABEL, None).unwrap();
        assert_eq!(bytes[..], [0, 1, 253, 255, 255, 254, 255, 255]);
        let names = ColumnMap::open(&scratch, columns::ESSENTIAL_NAME, None).unwrap();
        assert_eq!(names[..], [103, 104, label::NONE, 5]);
    }
}
