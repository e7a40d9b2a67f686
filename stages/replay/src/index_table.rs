//! Index tables: hash tables of indices into an array of their owner, for hash-consing.
//!
//! The table has no keys: its owner decides whether the item at an index matches. A look-up costs one slot of the table
//! and the item itself, which the owner reads anyway. Open addressing with linear probing, at most half full: 8 to 16
//! bytes per item. `hashbrown::HashTable` takes 6 to 11 and inserts as fast, but with ten million items finds one in
//! 1.1 to 1.5 times the time: its control bytes are a second cache line.

use heaplake_kit::{Budget, BudgetVec, StageError};
use std::convert::Infallible;

/// Slots of a new table.
const LEAST: usize = 1 << 10;

/// An index table.
pub(crate) struct IndexTable {
    /// Each index plus 1; 0 for an empty slot.
    places: BudgetVec<u32>,
    /// Bits by which hashes are shifted right.
    shift: u32,
    count: usize,
    budget: Budget,
    who: &'static str,
}

impl IndexTable {
    /// Returns an empty table, on the memory account of `who`.
    pub(crate) fn new(budget: &Budget, who: &'static str) -> Result<Self, StageError> {
        let places = budget.filled(who, LEAST, 0)?;
        Ok(Self { places, shift: 64 - LEAST.ilog2(), count: 0, budget: budget.clone(), who })
    }

    /// Returns the index with this hash for which `is` holds.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let Ok(found) = self.find_in(hash, |index| Ok::<bool, Infallible>(is(index)));
        found
    }

    /// Returns the index in the slot `further` behind the first one of a hash. An item of the table is most often in
    /// the first or second slot.
    #[inline]
    pub(crate) fn guess(&self, hash: u64, further: usize) -> Option<u32> {
        let place = (hash >> self.shift) as usize + further;
        self.places[place & (self.places.len() - 1)].checked_sub(1)
    }

    /// Adds the index of an item that is not in the table; `hash_of` gives the hash of any item.
    pub(crate) fn add(&mut self, index: u32, hash_of: impl Fn(u32) -> u64) -> Result<(), StageError> {
        self.add_in(index, |index| Ok(hash_of(index)))
    }

    /// Releases the memory; there are no look-ups afterwards.
    pub(crate) fn give_up(&mut self) {
        self.places = self.budget.growing(self.who);
        self.count = 0;
    }

    /// Like [`Self::find`], for items whose reading may fail.
    #[inline]
    pub(crate) fn find_in<E>(&self, hash: u64, mut is: impl FnMut(u32) -> Result<bool, E>) -> Result<Option<u32>, E> {
        let mut place = (hash >> self.shift) as usize;
        loop {
            match self.places[place] {
                0 => return Ok(None),
                index if is(index - 1)? => return Ok(Some(index - 1)),
                _ => place = (place + 1) & (self.places.len() - 1),
            }
        }
    }

    /// Like [`Self::add`], for items whose reading may fail.
    pub(crate) fn add_in(
        &mut self,
        index: u32,
        mut hash_of: impl FnMut(u32) -> Result<u64, StageError>,
    ) -> Result<(), StageError> {
        if 2 * (self.count + 1) > self.places.len() {
            let old = std::mem::replace(&mut self.places, self.budget.growing(self.who));
            self.places = self.budget.filled(self.who, 2 * old.len(), 0)?;
            self.shift -= 1;
            for &index in old.iter().filter(|&&index| index > 0) {
                self.put(index - 1, hash_of(index - 1)?);
            }
        }
        self.count += 1;
        self.put(index, hash_of(index)?);
        Ok(())
    }

    fn put(&mut self, index: u32, hash: u64) {
        let mut place = (hash >> self.shift) as usize;
        while self.places[place] != 0 {
            place = (place + 1) & (self.places.len() - 1);
        }
        self.places[place] = index + 1;
    }
}

/// Hashes two numbers: folds both halves of a product.
#[inline]
pub(crate) fn hash(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xd6e8_feb8_6659_fd93);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_again_whatever_their_hashes() {
        for spread in [1, 1 << 20, u64::MAX / 7] {
            let budget = Budget::new(64 << 20);
            let mut table = IndexTable::new(&budget, "test").expect("room");
            let hash_of = |index: u32| u64::from(index).wrapping_mul(spread);
            for index in 0..5000 {
                assert_eq!(table.find(hash_of(index), |other| other == index), None);
                table.add(index, hash_of).expect("room");
            }
            for index in 0..5000 {
                assert_eq!(table.find(hash_of(index), |other| other == index), Some(index));
            }
        }
    }
}
