//! Files with symbols, as the options of a run name them: assemblies and portable PDBs of .NET, source maps of JavaScript.

use crate::scratch::{Column, StringColumns};
use serde::{Deserialize, Serialize};

/// For each source location of a node the place in the file from which its script was made, where there are source maps.
pub const ORIGINAL_PLACE: Column<OriginalPlace> = Column::new("original.place");
/// Files and names of these.
pub const ORIGINAL_TEXTS: StringColumns =
    StringColumns { bytes: Column::new("original.text.bytes"), start: Column::new("original.text.start") };

/// A place in the file from which a script was made. Each number is `u32::MAX` where it is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct OriginalPlace {
    /// Position of the file among the texts.
    pub file: u32,
    /// Line from 0.
    pub line: u32,
    /// Column from 0, in UTF-16 units.
    pub column: u32,
    /// Position of the name of what is declared there.
    pub name: u32,
}

impl OriginalPlace {
    /// None is known.
    pub const NONE: Self = Self { file: u32::MAX, line: u32::MAX, column: u32::MAX, name: u32::MAX };
}

/// Files with symbols. Two of these are equal if the contents are, wherever the files are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Symbols {
    /// The files, in order of their paths.
    pub files: Vec<SymbolFile>,
    /// XXH3-128 of their contents and of the names of their modules, hexadecimal.
    pub hash: String,
}

/// A file with symbols.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolFile {
    /// The file.
    pub path: String,
    /// Its size, bytes.
    pub bytes: u64,
    /// XXH3-128 of its content, hexadecimal.
    pub hash: String,
    /// What it is.
    pub kind: SymbolKind,
    /// The module that it describes: the name of the file without its ending.
    pub module: String,
    /// Which build it is of, where the file says so: the GUID that an assembly and its PDB have in common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Whether it has lines of source files: a PDB, or an assembly that contains one.
    #[serde(default)]
    pub has_lines: bool,
}

/// What a file with symbols is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SymbolKind {
    /// A .NET assembly: names of types and methods.
    Assembly,
    /// A portable PDB: lines of source files.
    Pdb,
}

impl PartialEq for Symbols {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Eq for Symbols {}

/// Source maps. Two of these are equal if the maps are, wherever they are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SourceMaps {
    /// The maps, in order of their paths.
    pub maps: Vec<SourceMap>,
    /// XXH3-128 of their contents and of the names of their scripts, hexadecimal.
    pub hash: String,
}

/// A source map.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SourceMap {
    /// The file.
    pub path: String,
    /// Its size, bytes.
    pub bytes: u64,
    /// XXH3-128 of the map, hexadecimal.
    pub hash: String,
    /// Whether the file is a script that contains the map.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inside: bool,
    /// Paths of the scripts that it belongs to.
    pub scripts: Vec<String>,
}

impl PartialEq for SourceMaps {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Eq for SourceMaps {}
