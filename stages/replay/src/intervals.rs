//! Disjoint ranges of addresses, each with a value; a later range replaces the parts of earlier ones that it overlaps.
//!
//! [`Places`] has the generation of each address, from the reports during a concurrent collection. A background
//! collection sweeps while the program and collections inside it go on: regions change their generation, are emptied
//! and reused before it reports survivors. So the ranges of all reports since its start are overlaid: where two
//! overlap, the later one counts, and ranges of only earlier ones stay.

use crate::events::Range;
use crate::sweep::Condemned;
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, StageError};
use std::collections::BTreeMap;

/// Bytes per range.
const ENTRY: u64 = 96;

/// Disjoint ranges.
pub struct Intervals<V> {
    /// By first address: exclusive end and value.
    ranges: BTreeMap<u64, (u64, V)>,
    account: MemoryAccount,
}

/// Generations of addresses.
pub(crate) type Places = Intervals<u8>;

impl<V: Copy> Intervals<V> {
    /// Returns an empty map, accounted as `who`.
    pub fn new(budget: &Budget, who: &'static str) -> Result<Self, StageError> {
        Ok(Self { ranges: BTreeMap::new(), account: MemoryAccount::new(budget, who)? })
    }

    /// Overlays a range; an empty one has no effect.
    pub fn overlay(&mut self, start: u64, end: u64, value: V) -> Result<(), StageError> {
        if start == end {
            return Ok(());
        }
        // The preceding range may reach into this one, or beyond it.
        if let Some((_, before)) = self.ranges.range_mut(..start).next_back()
            && before.0 > start
        {
            let (reach, value) = *before;
            before.0 = start;
            if reach > end {
                self.insert(end, reach, value)?;
            }
        }
        while let Some((&inside, &(reach, value))) = self.ranges.range(start..end).next() {
            self.ranges.remove(&inside);
            self.account.sub(ENTRY);
            if reach > end {
                self.insert(end, reach, value)?;
            }
        }
        self.insert(start, end, value)
    }

    fn insert(&mut self, start: u64, end: u64, value: V) -> Result<(), StageError> {
        self.account.add(ENTRY)?;
        self.ranges.insert(start, (end, value));
        Ok(())
    }

    /// Returns the value at an address; `None` outside all ranges.
    pub fn at(&self, address: u64) -> Option<V> {
        let (_, &(end, value)) = self.ranges.range(..=address).next_back()?;
        (address < end).then_some(value)
    }
}

impl Places {
    /// Overlays a range of a generation.
    pub fn report(&mut self, range: Range) -> Result<(), StageError> {
        self.overlay(range.start, range.start.saturating_add(range.used), range.generation)
    }

    /// Returns all ranges, sorted.
    pub fn condemned(&mut self) -> Result<Vec<Condemned>, StageError> {
        let mut condemned = Vec::new();
        self.account.make_room(&mut condemned, self.ranges.len())?;
        condemned.extend(self.ranges.iter().map(|(&start, &(end, generation))| Condemned { start, end, generation }));
        Ok(condemned)
    }

    /// Releases the memory of the list from [`Self::condemned`].
    pub fn give_back(&mut self, condemned: &[Condemned]) {
        self.account.sub(size_of_val(condemned) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against an array with a generation per address.
    #[test]
    fn later_ranges_lie_over_earlier_ones() {
        let mut chance = 1_u64;
        let mut below = |end: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (chance >> 33) % end
        };
        for _ in 0..300 {
            let mut places = Places::new(&Budget::new(1 << 20), "places").unwrap();
            let mut truth = [None; 64];
            for _ in 0..below(12) {
                let start = below(60);
                let (generation, used) = (below(5) as u8, below(64 - start));
                let range = Range { generation, start, used, reserved: used };
                places.report(range).unwrap();
                truth[start as usize..(start + range.used) as usize].fill(Some(range.generation));
            }
            let found: Vec<Option<u8>> = (0..64).map(|address| places.at(address)).collect();
            assert_eq!(found, truth);
            let listed = places.condemned().unwrap();
            assert!(listed.is_sorted_by(|a, b| a.end <= b.start));
            let covered: u64 = listed.iter().map(|range| range.end - range.start).sum();
            assert_eq!(covered, truth.iter().flatten().count() as u64);
        }
    }
}
