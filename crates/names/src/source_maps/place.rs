//! Places of classes in scripts, and their originals.

/// The place of a class in a generated script.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line from 0.
    pub line: u32,
    /// Column from 0, in UTF-16 units.
    pub column: u32,
    /// Name of the class in the script.
    pub name: String,
}

/// Original place and name of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Original {
    /// The file.
    pub source: Option<String>,
    /// Line in it, from 0.
    pub line: Option<u32>,
    /// Column in the line, from 0.
    pub column: Option<u32>,
    /// The name.
    pub name: Option<String>,
}
