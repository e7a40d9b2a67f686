//! Symbol files named in the options of a run: assemblies and portable PDBs of .NET, source maps of JavaScript.

use crate::scratch::{Column, StringColumns};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// For each source location of a node, the original place from the source map; written only with source maps.
pub const ORIGINAL_PLACE: Column<OriginalPlace> = Column::new("original.place");
/// Files and names of these.
pub const ORIGINAL_TEXTS: StringColumns =
    StringColumns { bytes: Column::new("original.text.bytes"), start: Column::new("original.text.start") };

/// A place in the original file of a script. `u32::MAX` means unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct OriginalPlace {
    /// Text id of the file.
    pub file: u32,
    /// Line from 0.
    pub line: u32,
    /// Column from 0, in UTF-16 units.
    pub column: u32,
    /// Text id of the name declared there.
    pub name: u32,
}

impl OriginalPlace {
    /// Unknown place.
    pub const NONE: Self = Self { file: u32::MAX, line: u32::MAX, column: u32::MAX, name: u32::MAX };
}

/// Symbol files. Two values are equal if the contents are, wherever the files are.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Symbols {
    /// The files, in order of their paths.
    pub files: Vec<SymbolFile>,
    /// XXH3-128 of their contents and module names, hexadecimal.
    pub hash: String,
}

/// A symbol file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SymbolFile {
    /// Its path.
    pub path: String,
    /// Its size, bytes.
    pub bytes: u64,
    /// XXH3-128 of its content, hexadecimal.
    pub hash: String,
    /// Its kind.
    pub kind: SymbolKind,
    /// The module that it describes: its file name without extension.
    pub module: String,
    /// Build id, if the file has one: the GUID that an assembly and its PDB share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Whether it has source lines: a PDB, or an assembly that contains one.
    #[serde(default)]
    pub has_lines: bool,
}

/// Kind of a symbol file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SymbolKind {
    /// A .NET assembly: names of types and methods.
    Assembly,
    /// A portable PDB: source lines.
    Pdb,
}

impl PartialEq for Symbols {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Eq for Symbols {}

/// Source maps. Two values are equal if the maps are, wherever the files are.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SourceMaps {
    /// The maps, in order of their paths.
    pub maps: Vec<SourceMap>,
    /// XXH3-128 of their contents and script names, hexadecimal.
    pub hash: String,
}

/// A source map.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SourceMap {
    /// Its path.
    pub path: String,
    /// Its size, bytes.
    pub bytes: u64,
    /// XXH3-128 of the map, hexadecimal.
    pub hash: String,
    /// Whether the file is a script that contains the map.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inside: bool,
    /// Paths of its scripts.
    pub scripts: Vec<String>,
}

impl PartialEq for SourceMaps {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Eq for SourceMaps {}
