//! Keys that order edges on shortest paths: kind, then label. They depend on texts, which another run of the program
//! repeats, never on node numbers. Used by [`super::path_edges`].
//!
//! Resident memory: [`KeyCache::BYTES`] for each block of edges.

use heaplake_kit::{Scratch, StageError, StringTable};
use heaplake_schemas::chains::label;
use heaplake_schemas::scratch::STRINGS;

/// Bits of a key below the kind of the edge: one for labels that do not begin with a letter, and the beginning of the
/// text.
const LABEL_BITS: u32 = 24;

/// Labels in the cache of a block of edges, a power of two.
const RECENT: usize = 1 << 10;

/// Cache of the bits of recent labels.
pub(crate) struct KeyCache(Vec<(u32, u32)>);

impl KeyCache {
    pub(crate) const BYTES: usize = RECENT * size_of::<(u32, u32)>();
}

impl Default for KeyCache {
    fn default() -> Self {
        // No name: it has the bits of an empty text.
        Self(vec![(label::NONE, bits(b"")); RECENT])
    }
}

pub(crate) struct Keys {
    strings: StringTable,
}

impl Keys {
    pub(crate) fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self { strings: StringTable::open(scratch, STRINGS)? })
    }

    /// Returns the key of an edge; the least goes first. Labels with the same first bytes have the same key.
    #[inline]
    pub(crate) fn of(&self, kind: u8, label: u32, cache: &mut KeyCache) -> u32 {
        let recent = &mut cache.0[label as usize % RECENT];
        if recent.0 != label {
            *recent = (label, bits(text(label, &self.strings)));
        }
        u32::from(kind) << LABEL_BITS | recent.1
    }
}

/// Returns a number that orders labels as [`order`] does, by their first bytes.
fn bits(label: &[u8]) -> u32 {
    let byte = |at: usize| u32::from(label.get(at).copied().unwrap_or(0));
    let beginning = (byte(0) << 16 | byte(1) << 8 | byte(2)) >> 1;
    u32::from(!is_spoken(label)) << (LABEL_BITS - 1) | beginning
}

/// Returns the sort key of labels: those that begin with a letter go first, then the texts.
pub(crate) fn order(label: &[u8]) -> (bool, &[u8]) {
    (!is_spoken(label), label)
}

/// Whether a label begins with a letter: `sessions`, and not `__proto__`, `<symbol …>` or an index.
fn is_spoken(label: &[u8]) -> bool {
    label.first().is_some_and(u8::is_ascii_alphabetic)
}

/// Returns the text of a label; empty for numbers and unnamed edges. Entries of weak maps come next, so that they
/// differ from numbers whatever the order of the edges.
pub(crate) fn text(label: u32, strings: &StringTable) -> &[u8] {
    if label == label::ENTRY {
        return b"\0";
    }
    let text = if (label as usize) < strings.len() { strings.get(label as usize) } else { b"" };
    if text.iter().all(u8::is_ascii_digit) { b"" } else { text }
}
