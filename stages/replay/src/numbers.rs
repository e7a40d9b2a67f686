//! Numbers of things by what they are: a hash table of numbers alone.
//!
//! Things lie in an array of their owner, who tells whether the one with a number is the one that is meant. So a look costs
//! a place of the table and the thing itself, which is wanted anyway. Open addressing, at most half full.

use heaplake_kit::{Budget, BudgetVec, StageError};

/// Places of a table that has just begun.
const LEAST: usize = 1 << 10;

/// The table.
pub struct Numbers {
    /// Each number and one; 0 where there is none.
    places: BudgetVec<u32>,
    /// Bits by which hashes are shifted.
    shift: u32,
    count: usize,
    budget: Budget,
    who: &'static str,
}

impl Numbers {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(budget: &Budget, who: &'static str) -> Result<Self, StageError> {
        let places = budget.filled(who, LEAST, 0)?;
        Ok(Self { places, shift: 64 - LEAST.ilog2(), count: 0, budget: budget.clone(), who })
    }

    /// The number of the thing with this hash that `is` the one.
    #[inline]
    pub fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mut place = (hash >> self.shift) as usize;
        loop {
            match self.places[place] {
                0 => return None,
                number if is(number - 1) => return Some(number - 1),
                _ => place = (place + 1) & (self.places.len() - 1),
            }
        }
    }

    /// Adds the next number, the thing of which was not there; `hash_of` gives the hash of any that is.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn add(&mut self, number: u32, hash_of: impl Fn(u32) -> u64) -> Result<(), StageError> {
        if 2 * (self.count + 1) > self.places.len() {
            let old = std::mem::replace(&mut self.places, self.budget.growing(self.who));
            self.places = self.budget.filled(self.who, 2 * old.len(), 0)?;
            self.shift -= 1;
            old.iter().filter(|&&number| number > 0).for_each(|&number| self.put(number - 1, hash_of(number - 1)));
        }
        self.count += 1;
        self.put(number, hash_of(number));
        Ok(())
    }

    fn put(&mut self, number: u32, hash: u64) {
        let mut place = (hash >> self.shift) as usize;
        while self.places[place] != 0 {
            place = (place + 1) & (self.places.len() - 1);
        }
        self.places[place] = number + 1;
    }
}

/// A hash of two numbers: both halves of a product, folded.
#[inline]
#[must_use]
pub fn hash(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xd6e8_feb8_6659_fd93);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_found_again_whatever_their_hashes() {
        for spread in [1, 1 << 20, u64::MAX / 7] {
            let budget = Budget::new(64 << 20);
            let mut numbers = Numbers::new(&budget, "test").expect("room");
            let hash_of = |number: u32| u64::from(number).wrapping_mul(spread);
            for number in 0..5000 {
                assert_eq!(numbers.find(hash_of(number), |other| other == number), None);
                numbers.add(number, hash_of).expect("room");
            }
            for number in 0..5000 {
                assert_eq!(numbers.find(hash_of(number), |other| other == number), Some(number));
            }
        }
    }
}
