//! Source maps: what the classes of minified scripts were called, and in which file they were written.
//!
//! Heap snapshots place a class at the parameter list of its constructor, or where the class begins if it has none.
//! A map leads from there to a place in the original file. What stands there is read from the file where the map
//! contains it ([`scopes`]); else a name that the map has for the minified one counts.
//!
//! Reference: ECMA-426, Source map format specification.

mod files;
mod lexer;
mod mappings;
mod scopes;

pub use files::{find, of_script, read};

use mappings::{Map, Token};
use scopes::{CONSTRUCTOR, Scopes};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::Path;

/// Bytes of memory that reading a map takes, for each byte of the map.
pub const BYTES_PER_BYTE: u64 = 8;

/// Characters of the generated script that can lie between a token of the map and the place of a class, besides its
/// name: `function `, `constructor` and the like.
const MOST_BETWEEN: usize = 24;

/// A map that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapError {
    /// The file or folder.
    pub file: String,
    /// What is wrong with it.
    pub problem: String,
}

impl MapError {
    fn of(file: impl AsRef<Path>, problem: String) -> Self {
        Self { file: file.as_ref().display().to_string(), problem }
    }

    fn unreadable(file: impl AsRef<Path>, error: &io::Error) -> Self {
        Self::of(file, format!("cannot read: {error}"))
    }
}

impl Display for MapError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.problem)
    }
}

/// The place of a class in a generated script.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line from 0.
    pub line: u32,
    /// Column from 0, in UTF-16 units.
    pub column: u32,
    /// What the class is called in the script.
    pub name: String,
}

/// Where and as what a class was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Original {
    /// The file.
    pub source: Option<String>,
    /// The name.
    pub name: Option<String>,
}

/// Where the classes at these places of a script were written. `map` is the content of its map, the places are
/// ascending.
///
/// # Errors
/// What is wrong with the map, in one line.
pub fn originals(map: &[u8], places: &[Place]) -> Result<Vec<Original>, String> {
    let mut found = vec![Original::default(); places.len()];
    for (part, offset, places, first) in Map::parse(map)?.parts(places) {
        let mut sources = Sources { map: part, scopes: BTreeMap::new() };
        let mut at = 0;
        part.lines(|line, tokens| {
            while let Some(place) = places.get(at).filter(|place| place.line - offset.0 == line) {
                let shift = if line == 0 { offset.1 } else { 0 };
                found[first + at] = sources.original(tokens, place, place.column - shift);
                at += 1;
            }
            places.get(at).map(|place| place.line - offset.0)
        })?;
    }
    Ok(found)
}

/// The original files of a map.
struct Sources<'a> {
    map: &'a Map,
    /// What is declared in those that were asked for.
    scopes: BTreeMap<u32, Scopes<'a>>,
}

impl<'a> Sources<'a> {
    fn original(&mut self, tokens: &[Token], place: &Place, column: u32) -> Original {
        let length = place.name.encode_utf16().count();
        let near = |token: &&Token| (column - token.column) as usize <= MOST_BETWEEN + length;
        let token = tokens[..tokens.partition_point(|token| token.column <= column)].last();
        let Some(source) = token.filter(near).and_then(|token| token.source) else { return Original::default() };
        let map = self.map;
        let declared = self.scopes(source.file).and_then(|scopes| scopes.declared(source.line, source.column));
        let name = declared.map(str::to_owned).or_else(|| {
            // Only `NAME(` is certain: elsewhere the name may be that of the class that is extended.
            let at = column.checked_sub(length as u32)?;
            let name = tokens.iter().find(|token| token.column == at)?.name?;
            map.names.get(name as usize).filter(|name| *name != CONSTRUCTOR).cloned()
        });
        Original { source: map.source(source.file), name }
    }

    fn scopes(&mut self, file: u32) -> Option<&Scopes<'a>> {
        let text = self.map.contents.get(file as usize)?.as_deref()?;
        Some(self.scopes.entry(file).or_insert_with(|| Scopes::of(text)))
    }
}

#[cfg(test)]
mod tests;
