//! Names and types of scratch columns, and the string tables that columns of tables refer to.

use std::marker::PhantomData;

/// Cardinality of a column or an array: one element per ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// A node.
    Node,
    /// An edge, essential or not.
    Edge,
    /// Something much rarer than nodes and edges.
    Few,
}

/// A typed name of a scratch column. `T` is the element as stored on disk.
pub struct Column<T> {
    /// File name inside the scratch folder.
    pub name: &'static str,
    /// Cardinality.
    pub per: Per,
    element: PhantomData<fn() -> T>,
}

impl<T> Column<T> {
    /// A column of few elements.
    pub const fn new(name: &'static str) -> Self {
        Self::of(name, Per::Few)
    }

    /// A column of given cardinality.
    pub const fn of(name: &'static str, per: Per) -> Self {
        Self { name, per, element: PhantomData }
    }
}

impl<T> Clone for Column<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Column<T> {}

/// The two columns of a string table: the concatenated bytes, and the start of each string, with the end of the last.
/// Strings are UTF-8, but lone surrogates of the input are kept in three-byte generalised form and invalid bytes are
/// kept as is, so that equality is exact.
#[derive(Clone, Copy)]
pub struct StringColumns {
    /// The bytes.
    pub bytes: Column<u8>,
    /// The starts, one more than there are strings.
    pub start: Column<u64>,
}

/// Class keys, by [`ClassId`](crate::ids::ClassId).
pub const CLASS_KEYS: StringColumns =
    StringColumns { bytes: Column::new("class_key.bytes"), start: Column::new("class_key.start") };

/// Texts of rows about recordings of Java.
pub const RECORDING_TEXTS: StringColumns = StringColumns {
    bytes: Column::new("replay.recording_text.bytes"),
    start: Column::new("replay.recording_text.start"),
};

/// Names of types, by number of the type.
pub const TYPE_NAMES: StringColumns =
    StringColumns { bytes: Column::new("replay.type_name.bytes"), start: Column::new("replay.type_name.start") };

/// Names, signatures, modules and files of functions.
pub const FUNCTION_STRINGS: StringColumns =
    StringColumns { bytes: Column::new("replay.string.bytes"), start: Column::new("replay.string.start") };
