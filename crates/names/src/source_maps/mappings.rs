//! A source map file, and the tokens of its lines.

use super::place::Place;
use serde::Deserialize;

/// A source map.
#[derive(Deserialize)]
pub(super) struct Map {
    #[serde(default)]
    version: Option<u32>,
    /// The script that the map names.
    #[serde(default)]
    pub(super) file: Option<String>,
    /// Maps of parts of the script.
    #[serde(default)]
    sections: Option<Vec<Section>>,
    #[serde(default, rename = "sourceRoot")]
    root: Option<String>,
    #[serde(default)]
    sources: Vec<Option<String>>,
    #[serde(default, rename = "sourcesContent")]
    contents_or_null: Option<Vec<Option<String>>>,
    #[serde(default)]
    pub(super) names: Vec<String>,
    #[serde(default)]
    mappings: Option<String>,
    /// Texts of the sources that the map contains.
    #[serde(skip)]
    pub(super) contents: Vec<Option<String>>,
}

#[derive(Deserialize)]
struct Section {
    offset: Offset,
    map: Map,
}

#[derive(Deserialize)]
struct Offset {
    line: u32,
    column: u32,
}

/// A position in the script and its original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Column in the script, in UTF-16 units.
    pub(super) column: u32,
    pub(super) source: Option<Source>,
    /// Position of its name among the names.
    pub(super) name: Option<u32>,
}

/// A position in an original file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) file: u32,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// A map, the line and column of its start, the places in it, and the position of the first.
type Part<'m, 'p> = (&'m Map, (u32, u32), &'p [Place], usize);

impl Map {
    /// Parses a map.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let json = json(bytes).trim_ascii_start();
        if !json.starts_with(b"{") {
            return Err("expected a source map, found what is none".to_owned());
        }
        let mut map: Self = serde_json::from_slice(json)
            .map_err(|error| format!("expected a source map, found what is none: {error}"))?;
        map.check()?;
        Ok(map)
    }

    fn check(&mut self) -> Result<(), String> {
        if self.version != Some(3) {
            let found = self.version.map_or("none".to_owned(), |version| version.to_string());
            return Err(format!("expected a source map of version 3, found {found}"));
        }
        if self.mappings.is_none() && self.sections.is_none() {
            return Err("expected a source map, found neither mappings nor sections".to_owned());
        }
        self.contents = self.contents_or_null.take().unwrap_or_default();
        let parts = self.sections.iter_mut().flatten();
        parts.map(|section| &mut section.map).try_for_each(|map| match map.sections {
            Some(_) => Err("expected sections without sections".to_owned()),
            None => map.check(),
        })
    }

    /// Name of a file, under the source root.
    pub(super) fn source(&self, file: u32) -> Option<String> {
        let file = self.sources.get(file as usize)?.as_deref()?;
        Some(match self.root.as_deref() {
            Some(root) if !root.is_empty() => format!("{}/{file}", root.trim_end_matches('/')),
            _ => file.to_owned(),
        })
    }

    /// Groups the places by the map that describes them.
    pub(super) fn parts<'m, 'p>(&'m self, places: &'p [Place]) -> Vec<Part<'m, 'p>> {
        let Some(sections) = &self.sections else { return vec![(self, (0, 0), places, 0)] };
        let start = |section: &Section| (section.offset.line, section.offset.column);
        let before = |at: (u32, u32)| places.partition_point(|place| (place.line, place.column) < at);
        let ends = sections.iter().skip(1).map(|next| before(start(next))).chain([places.len()]);
        let parts = sections.iter().zip(ends).map(|(section, end)| {
            let (start, first) = (start(section), before(start(section)));
            (&section.map, start, &places[first..end.max(first)], first)
        });
        parts.collect()
    }

    /// Parses all lines, as a check.
    pub(super) fn check_lines(&self) -> Result<(), String> {
        let parts = self.sections.iter().flatten().map(|section| &section.map);
        parts.chain([self]).try_for_each(|map| map.lines(|line, _| line.checked_add(1)))
    }

    /// Calls `each` with lines of the script and their tokens, sorted by column. `each` returns the next line it needs;
    /// the first call is for line 0.
    pub(super) fn lines(&self, mut each: impl FnMut(u32, &[Token]) -> Option<u32>) -> Result<(), String> {
        let mappings = self.mappings.as_deref().unwrap_or_default();
        let (mut state, mut tokens, mut wanted) = (State::default(), Vec::new(), Some(0));
        for (text, line) in mappings.split(';').zip(0..) {
            state.column = 0;
            tokens.clear();
            for segment in text.split(',').filter(|segment| !segment.is_empty()) {
                let token = state.next(segment).ok_or_else(|| format!("line {line} of its mappings is damaged"))?;
                if wanted == Some(line) {
                    tokens.push(token);
                }
            }
            if wanted == Some(line) {
                tokens.sort_by_key(|token| token.column);
                wanted = each(line, &tokens);
            }
            if wanted.is_none() {
                break;
            }
        }
        Ok(())
    }
}

/// The JSON of a map, without the guard line that servers may put before it.
fn json(bytes: &[u8]) -> &[u8] {
    match bytes.starts_with(b")]}") {
        true => bytes.iter().position(|&byte| byte == b'\n').map_or(&[], |end| &bytes[end..]),
        false => bytes,
    }
}

/// Numbers of the last segment, to which those of the next are relative.
#[derive(Default)]
struct State {
    column: i64,
    file: i64,
    line: i64,
    source_column: i64,
    name: i64,
}

impl State {
    /// Decodes a segment: 1, 4 or 5 numbers.
    fn next(&mut self, segment: &str) -> Option<Token> {
        let (mut numbers, mut count) = ([0_i64; 5], 0);
        let (mut value, mut shift) = (0_i64, 0);
        for byte in segment.bytes() {
            let digit = digit(byte)?;
            value |= (digit & 31).checked_shl(shift)?;
            shift += 5;
            if digit & 32 != 0 {
                // Numbers have 32 bits.
                if shift > 35 {
                    return None;
                }
                continue;
            }
            *numbers.get_mut(count)? = if value & 1 == 1 { -(value >> 1) } else { value >> 1 };
            (count, value, shift) = (count + 1, 0, 0);
        }
        if shift != 0 || ![1, 4, 5].contains(&count) {
            return None;
        }
        let [column, file, line, source_column, name] = numbers;
        self.column += column;
        let mut token = Token { column: u32::try_from(self.column).ok()?, source: None, name: None };
        if count >= 4 {
            self.file += file;
            self.line += line;
            self.source_column += source_column;
            token.source = Some(Source {
                file: u32::try_from(self.file).ok()?,
                line: u32::try_from(self.line).ok()?,
                column: u32::try_from(self.source_column).ok()?,
            });
        }
        if count == 5 {
            self.name += name;
            token.name = Some(u32::try_from(self.name).ok()?);
        }
        Some(token)
    }
}

/// Decodes a Base64 digit.
fn digit(byte: u8) -> Option<i64> {
    Some(i64::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}
