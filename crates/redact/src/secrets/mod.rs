//! Looks for secrets that remain in a file, byte by byte, whatever its format: in plain text, and in UTF-16 of either
//! byte order.
//!
//! * Reports: kinds, counts and offsets in the decompressed content; never the secrets.
//! * Resident memory: fixed buffers.
//! * Passes: one.
//! * Misses: what is encoded (Base64, hexadecimal), encrypted or compressed inside the heap, secrets without a pattern,
//!   and those that an object graph holds in parts.

mod patterns;

pub use patterns::Kind;

use heaplake_input::source::Source;
use heaplake_kit::{Context, StageError};
use patterns::{MOST, Patterns};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Bytes that are searched at once, at least.
const WINDOW: usize = 256 << 10;

/// Bytes of a window that the next one has again: twice a match, for UTF-16.
const OVERLAP: usize = 2 * MOST;

/// Characters of UTF-16 in a row that make a text.
const LEAST_WIDE: usize = 8;

/// Offsets that are reported of each kind.
const OFFSETS: usize = 10;

/// Secrets of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Found {
    /// Their number.
    pub count: u64,
    /// Offsets of the first ones in the content.
    pub offsets: Vec<u64>,
}

/// The secrets of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Secrets {
    /// Name of the file.
    pub input: String,
    /// Bytes of its content, decompressed.
    pub content_bytes: u64,
    /// The secrets by kind.
    pub found: BTreeMap<Kind, Found>,
}

impl Secrets {
    /// Whether there are none.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.found.is_empty()
    }
}

/// Searches a content.
///
/// # Errors
/// Those of reading it.
pub fn check(mut source: Source, context: &Context<'_>) -> Result<Secrets, StageError> {
    let mut search = Search::new(source.name());
    let (mut block, mut window) = (Vec::new(), Vec::new());
    while source.next_block(&mut block, context)? {
        context.step(block.len() as u64)?;
        search.secrets.content_bytes += block.len() as u64;
        window.extend_from_slice(&block);
        if window.len() >= WINDOW + OVERLAP {
            let passed = window.len() - OVERLAP;
            search.window(&window, passed);
            window.drain(..passed);
        }
    }
    search.window(&window, window.len());
    Ok(search.secrets)
}

/// State of a search.
struct Search {
    secrets: Secrets,
    patterns: Patterns,
    /// Offset of the window.
    offset: u64,
    /// End of the last secret of each kind, in plain text and in UTF-16: a window's end may cut one that the next has
    /// whole, and a text in UTF-16 is nearly one of the other byte order.
    ends: BTreeMap<(Kind, bool), u64>,
    /// Characters of a text in UTF-16, as bytes.
    narrow: Vec<u8>,
}

impl Search {
    fn new(input: &str) -> Self {
        Self {
            secrets: Secrets { input: input.to_owned(), ..Secrets::default() },
            patterns: Patterns::new(),
            offset: 0,
            ends: BTreeMap::new(),
            narrow: Vec::new(),
        }
    }

    /// Searches a window for secrets that begin in its first `passed` bytes.
    fn window(&mut self, window: &[u8], passed: usize) {
        let mut found = Vec::new();
        self.patterns.find(window, |kind, start, end| found.push((kind, false, start, end)));
        self.wide(window, &mut found);
        found.sort_unstable_by_key(|&(kind, is_wide, start, _)| (start, kind, is_wide));
        for (kind, is_wide, start, end) in found.into_iter().filter(|&(_, _, start, _)| start < passed) {
            let (start, end) = (self.offset + start as u64, self.offset + end as u64);
            let last = self.ends.entry((kind, is_wide)).or_default();
            if start >= *last {
                *last = end;
                let found = self.secrets.found.entry(kind).or_default();
                found.count += 1;
                if found.offsets.len() < OFFSETS {
                    found.offsets.push(start);
                }
            }
        }
        self.offset += passed as u64;
    }

    /// Searches the texts in UTF-16: a character of ASCII and a zero, in either order, many times.
    fn wide(&mut self, window: &[u8], found: &mut Vec<(Kind, bool, usize, usize)>) {
        let is_text = |byte: u8| (b' '..0x7f).contains(&byte);
        for zero_first in [true, false] {
            let is_wide = |pair: &[u8]| {
                let (zero, byte) = if zero_first { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
                zero == 0 && is_text(byte)
            };
            let mut at = 0;
            while let Some(zero) = memchr::memchr(0, window.get(at..).unwrap_or_default()) {
                let start = if zero_first { at + zero } else { (at + zero).saturating_sub(1).max(at) };
                let pairs = window[start..].chunks_exact(2).take_while(|pair| is_wide(pair)).count();
                if pairs >= LEAST_WIDE {
                    self.narrow.clear();
                    let low = usize::from(zero_first);
                    self.narrow.extend(window[start + low..start + 2 * pairs].iter().step_by(2));
                    self.patterns.find(&self.narrow, |kind, from, to| {
                        found.push((kind, true, start + 2 * from, start + 2 * to));
                    });
                }
                at = (start + 2 * pairs).max(at + zero + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::Budget;
    use heaplake_kit::stage::Silent;
    use std::sync::atomic::AtomicBool;

    fn checked(content: Vec<u8>, block: usize) -> Secrets {
        let cancel = AtomicBool::new(false);
        let context = Context { budget: Budget::new(64 << 20), threads: 1, progress: &Silent, cancel: &cancel };
        check(Source::of_bytes(content, block), &context).unwrap()
    }

    #[test]
    fn secrets_are_found_in_each_encoding_and_across_blocks() {
        let mail = "alice@example.com";
        let big: Vec<u8> = mail.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let little: Vec<u8> = mail.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for form in [mail.as_bytes(), &big, &little] {
            for before in [0, 1, 100, WINDOW - 9, WINDOW + OVERLAP - 9, WINDOW + 3] {
                let content = [vec![0xff; before], form.to_vec(), vec![0xff; 3 * WINDOW]].concat();
                for block in [1000, 1 << 16] {
                    let secrets = checked(content.clone(), block);
                    let found = &secrets.found[&Kind::Mail];
                    assert_eq!((found.count, found.offsets.as_slice()), (1, &[before as u64][..]), "{before} {block}");
                    assert_eq!(secrets.content_bytes, content.len() as u64);
                }
            }
        }
        assert!(checked(b"nothing here".to_vec(), 5).is_clean());
    }

    #[test]
    fn each_secret_counts_once() {
        let content = "postgres://a:secret@db/x ".repeat(50_000).into_bytes();
        let secrets = checked(content, 1 << 16);
        assert_eq!(secrets.found[&Kind::PasswordInUrl].count, 50_000);
        assert_eq!(secrets.found[&Kind::PasswordInUrl].offsets.len(), OFFSETS);
    }
}
