//! Source maps: original names and files of the classes of minified scripts.
//!
//! Heap snapshots place a class at the parameter list of its constructor, or at its beginning without one. A map leads
//! from there to a position in the original file. If the map contains that file, the name is read there ([`scopes`]);
//! else the map's own name for the minified one counts.
//!
//! Reference: ECMA-426, Source map format specification.

mod error;
mod files;
mod lexer;
mod mappings;
mod place;
mod scopes;

pub use error::MapError;
pub use files::{BYTES_PER_BYTE, collect, find, of_script, read};
pub use place::{Original, Place};

use mappings::{Map, Token};
use scopes::{CONSTRUCTOR, Scopes};
use std::collections::BTreeMap;

/// Maximum characters of the generated script between a token of the map and the place of a class, besides its name:
/// `function `, `constructor` and the like.
const MOST_BETWEEN: usize = 24;

/// Finds the originals of the classes at ascending places of a script. `map` is the content of its map; an error is one
/// line.
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
    /// Declarations of the files parsed so far.
    scopes: BTreeMap<u32, Scopes<'a>>,
}

impl<'a> Sources<'a> {
    fn original(&mut self, tokens: &[Token], place: &Place, column: u32) -> Original {
        let length = place.name.encode_utf16().count();
        let near = |token: &&Token| (column - token.column) as usize <= MOST_BETWEEN + length;
        let token = tokens[..tokens.partition_point(|token| token.column <= column)].last();
        let Some(source) = token.filter(near).and_then(|token| token.source) else { return Original::default() };
        let map = self.map;
        let declared =
            self.scopes(source.file).and_then(|scopes| scopes.declared(source.line, source.column, &place.name));
        let name = declared.map(str::to_owned).or_else(|| {
            // Only `NAME(` is certain: elsewhere the name may be that of the superclass.
            let at = column.checked_sub(length as u32)?;
            let name = tokens.iter().find(|token| token.column == at)?.name?;
            map.names.get(name as usize).filter(|name| *name != CONSTRUCTOR).cloned()
        });
        let source_file = map.source(source.file);
        Original { source: source_file, line: Some(source.line), column: Some(source.column), name }
    }

    fn scopes(&mut self, file: u32) -> Option<&Scopes<'a>> {
        let text = self.map.contents.get(file as usize)?.as_deref()?;
        Some(self.scopes.entry(file).or_insert_with(|| Scopes::of(text)))
    }
}

#[cfg(test)]
mod tests;
