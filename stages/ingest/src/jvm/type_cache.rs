//! A direct-mapped cache of class look-ups.

use super::layouts::Position;

/// See the module.
pub(super) struct TypeCache {
    entries: Vec<(u64, u32)>,
}

/// log2 of the entries.
const CACHE: u32 = 12;

impl TypeCache {
    /// Returns an empty cache.
    pub(super) fn new() -> Self {
        Self { entries: vec![(0, u32::MAX); 1 << CACHE] }
    }

    /// Returns the position of the class at an address; calls `find` on a miss.
    #[inline]
    pub(super) fn position(&mut self, id: u64, find: impl FnOnce(u64) -> Option<Position>) -> Option<Position> {
        // Fibonacci hashing: addresses have patterns.
        let entry = &mut self.entries[(id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - CACHE)) as usize];
        if entry.0 != id {
            *entry = (id, find(id).map_or(u32::MAX, |position| position as u32));
        }
        if entry.1 == u32::MAX { None } else { Some(entry.1 as usize) }
    }
}
