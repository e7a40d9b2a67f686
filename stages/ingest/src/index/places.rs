//! Places at which objects may begin: from an address to a word and a bit.

use super::chunks::{CHUNK, Table};
use heaplake_kit::{Budget, Scratch, StageError};
use std::ops::Range;

/// log2 of the largest alignment of objects that the index uses.
const MOST_UNIT: u32 = 3;

/// Places per word.
const PLACES: u64 = 64;

/// The places of all chunks that hold objects.
pub(super) struct Places {
    table: Table,
    /// log2 of the distance between places.
    unit: u32,
    /// Number of words.
    pub words: usize,
}

/// A subset of the places of a word.
pub(super) struct Window {
    /// Index of the word.
    pub word: usize,
    /// One bit per place.
    pub mask: u64,
}

impl Places {
    /// Number of words of `chunks` chunks.
    pub(super) fn words_of(chunks: u64, unit: u32) -> u64 {
        chunks << (CHUNK - unit.min(MOST_UNIT) - 6)
    }

    /// Loads the places of a heap whose addresses are multiples of `1 << unit`.
    pub(super) fn load(unit: u32, budget: &Budget, scratch: &Scratch) -> Result<Self, StageError> {
        let (table, chunks) = Table::load(budget, scratch)?;
        let unit = unit.min(MOST_UNIT);
        Ok(Self { table, unit, words: Self::words_of(chunks, unit) as usize })
    }

    /// Returns the first word of a chunk; `None` if the chunk holds no object.
    #[inline]
    fn first_word(&self, chunk: u64) -> Option<usize> {
        Some(self.table.position(chunk)? << (CHUNK - self.unit - 6))
    }

    /// Returns word and bit of an address; `None` if its chunk holds no object or the address is not aligned.
    #[inline]
    pub(super) fn place(&self, address: u64) -> Option<(usize, u32)> {
        let first = self.first_word(address >> CHUNK)?;
        let within = (address & ((1 << CHUNK) - 1)) as u32;
        if within & ((1 << self.unit) - 1) != 0 {
            return None;
        }
        let slot = within >> self.unit;
        Some((first + (slot >> 6) as usize, slot & 63))
    }

    /// Returns the places from `from` to `to` or to the end of its chunk, and that end.
    pub(super) fn windows(&self, from: u64, to: u64) -> (impl Iterator<Item = Window> + use<>, u64) {
        const WITHIN: u64 = (1 << CHUNK) - 1;
        let slot = |within: u64| (within + (1 << self.unit) - 1) >> self.unit;
        let end = (from | WITHIN).saturating_add(1).min(to);
        let (low, high) = (slot(from & WITHIN), slot(((end - 1) & WITHIN) + 1));
        let windows = self.first_word(from >> CHUNK).map(|first| windows(first, low..high));
        (windows.into_iter().flatten(), end)
    }
}

/// Splits a range of places of a chunk into words; `first` is the chunk's first word.
fn windows(first: usize, slots: Range<u64>) -> impl Iterator<Item = Window> {
    (slots.start / PLACES..slots.end.div_ceil(PLACES)).map(move |number| {
        let before = number * PLACES;
        let low = u64::MAX << slots.start.saturating_sub(before);
        let high = u64::MAX >> (PLACES - (slots.end - before).min(PLACES));
        Window { word: first + number as usize, mask: low & high }
    })
}
