//! Where objects may begin: the arithmetic from an address to a word and a bit in it.

use super::chunks::{CHUNK, Table};
use heaplake_kit::{Budget, Scratch, StageError};
use std::ops::Range;

/// Largest distance, as a power of two, at which the index expects objects.
const MOST_UNIT: u32 = 3;

/// Places of a word.
const PLACES: u64 = 64;

/// The places of all chunks that hold objects, [`PLACES`] of them to a word.
pub(super) struct Places {
    table: Table,
    /// Distance between places, as a power of two.
    unit: u32,
    /// Number of words.
    pub words: usize,
}

/// Some of the places of a word.
pub(super) struct Window {
    /// The word.
    pub word: usize,
    /// A bit for each of the places.
    pub mask: u64,
}

impl Places {
    /// Words of so many chunks.
    pub fn words_of(chunks: u64, unit: u32) -> u64 {
        chunks << (CHUNK - unit.min(MOST_UNIT) - 6)
    }

    /// Of a heap whose addresses are multiples of `1 << unit`.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn load(unit: u32, budget: &Budget, scratch: &Scratch) -> Result<Self, StageError> {
        let (table, chunks) = Table::load(budget, scratch)?;
        let unit = unit.min(MOST_UNIT);
        Ok(Self { table, unit, words: Self::words_of(chunks, unit) as usize })
    }

    /// First word of a chunk, which has words.
    #[inline]
    fn first_word(&self, chunk: u64) -> Option<usize> {
        Some(self.table.position(chunk)? << (CHUNK - self.unit - 6))
    }

    /// Word and bit of an address, where its chunk has words and it is on a place.
    #[inline]
    pub fn place(&self, address: u64) -> Option<(usize, u32)> {
        let first = self.first_word(address >> CHUNK)?;
        let within = (address & ((1 << CHUNK) - 1)) as u32;
        if within & ((1 << self.unit) - 1) != 0 {
            return None;
        }
        let slot = within >> self.unit;
        Some((first + (slot >> 6) as usize, slot & 63))
    }

    /// The places from an address to another one, or to the end of its chunk; and where they end.
    pub fn windows(&self, from: u64, to: u64) -> (impl Iterator<Item = Window> + use<>, u64) {
        const WITHIN: u64 = (1 << CHUNK) - 1;
        let slot = |within: u64| (within + (1 << self.unit) - 1) >> self.unit;
        let end = (from | WITHIN).saturating_add(1).min(to);
        let (low, high) = (slot(from & WITHIN), slot(((end - 1) & WITHIN) + 1));
        let windows = self.first_word(from >> CHUNK).map(|first| windows(first, low..high));
        (windows.into_iter().flatten(), end)
    }
}

/// Words and bits of some places of a chunk whose words begin at `first`.
fn windows(first: usize, slots: Range<u64>) -> impl Iterator<Item = Window> {
    (slots.start / PLACES..slots.end.div_ceil(PLACES)).map(move |number| {
        let before = number * PLACES;
        let low = u64::MAX << slots.start.saturating_sub(before);
        let high = u64::MAX >> (PLACES - (slots.end - before).min(PLACES));
        Window { word: first + number as usize, mask: low & high }
    })
}
