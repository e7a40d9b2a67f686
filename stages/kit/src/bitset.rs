//! One bit per element of an id space.

use crate::{Budget, BudgetVec, StageError};

/// A fixed-size set of small integers, `len / 8` bytes, counted against the budget.
#[derive(Debug)]
pub struct Bitset {
    words: BudgetVec<u64>,
}

impl Bitset {
    /// An empty set over `0..len`.
    ///
    /// # Errors
    /// [`StageError::Budget`] when it does not fit.
    pub fn new(budget: &Budget, who: &'static str, len: usize) -> Result<Self, StageError> {
        Ok(Self { words: budget.zeroed(who, len.div_ceil(64))? })
    }

    /// Whether `i` is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, i: usize) -> bool {
        self.words[i / 64] >> (i % 64) & 1 == 1
    }

    /// Inserts `i`; returns whether it is new.
    #[inline]
    pub fn insert(&mut self, i: usize) -> bool {
        let (word, bit) = (&mut self.words[i / 64], 1 << (i % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Removes `i`; returns whether it was in the set.
    #[inline]
    pub fn remove(&mut self, i: usize) -> bool {
        let (word, bit) = (&mut self.words[i / 64], 1 << (i % 64));
        let there = *word & bit != 0;
        *word &= !bit;
        there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behaves_like_a_set() {
        let budget = Budget::new(1 << 20);
        let mut set = Bitset::new(&budget, "test", 130).unwrap();
        assert!(set.insert(0) && set.insert(64) && set.insert(129));
        assert!(!set.insert(64));
        assert!(set.contains(129) && !set.contains(128));
        assert!(set.remove(129) && !set.remove(129));
    }
}
