//! One bit per element of an id space.

use crate::{Budget, BudgetVec, StageError};
use std::sync::atomic::{AtomicU64, Ordering};

/// A fixed-size set of small integers: `len / 8` bytes, counted against the budget.
#[derive(Debug)]
pub struct Bitset {
    words: BudgetVec<u64>,
}

impl Bitset {
    /// An empty set over `0..len`.
    pub fn new(budget: &Budget, who: &'static str, len: usize) -> Result<Self, StageError> {
        Ok(Self { words: budget.zeroed(who, len.div_ceil(64))? })
    }

    /// Returns true if `i` is in the set.
    #[inline]
    pub fn contains(&self, i: usize) -> bool {
        self.words[i / 64] >> (i % 64) & 1 == 1
    }

    /// Inserts `i`; returns true if it is new.
    #[inline]
    pub fn insert(&mut self, i: usize) -> bool {
        let (word, bit) = (&mut self.words[i / 64], 1 << (i % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Removes `i`; returns true if it was in the set.
    #[inline]
    pub fn remove(&mut self, i: usize) -> bool {
        let (word, bit) = (&mut self.words[i / 64], 1 << (i % 64));
        let there = *word & bit != 0;
        *word &= !bit;
        there
    }

    /// Number of words of 64 elements.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Removes the elements of a word; returns them, in ascending order.
    pub fn take_word(&mut self, at: usize) -> impl Iterator<Item = usize> + use<> {
        let mut word = std::mem::take(&mut self.words[at]);
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
            word &= word - 1;
            Some(64 * at + bit)
        })
    }

    /// The words, lowest bit first; threads may work on disjoint parts.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Adds the elements of another set over the same id space; returns the number of new ones. One pass.
    pub fn add_all(&mut self, other: &Self) -> u64 {
        let mut new = 0;
        for (word, other) in self.words.iter_mut().zip(other.words.iter()) {
            new += u64::from((other & !*word).count_ones());
            *word |= other;
        }
        new
    }

    /// Number of elements. One pass.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns a view to which threads can add elements concurrently.
    pub fn shared(&mut self) -> SharedBitset<'_> {
        const { assert!(size_of::<AtomicU64>() == size_of::<u64>() && align_of::<AtomicU64>() == align_of::<u64>()) };
        let words: *mut [u64] = &mut *self.words;
        // SAFETY: an atomic word has the size, alignment and values of a plain one; `self` is borrowed exclusively.
        SharedBitset(unsafe { &*(words as *const [AtomicU64]) })
    }
}

/// See [`Bitset::shared`].
#[derive(Clone, Copy, Debug)]
pub struct SharedBitset<'a>(&'a [AtomicU64]);

impl SharedBitset<'_> {
    /// Returns true if `i` is in the set as this thread sees it.
    #[inline]
    pub fn contains(&self, i: usize) -> bool {
        self.0[i / 64].load(Ordering::Relaxed) >> (i % 64) & 1 == 1
    }

    /// Inserts `i`. Other threads see it after a join.
    #[inline]
    pub fn insert(&self, i: usize) {
        // A load is cheaper than a read-modify-write, and duplicates are frequent.
        if !self.contains(i) {
            self.0[i / 64].fetch_or(1 << (i % 64), Ordering::Relaxed);
        }
    }
}

/// A set with rank queries: 12 bytes per 64 ids.
#[derive(Debug)]
pub struct Ranks {
    set: Bitset,
    /// Number of elements in the preceding words.
    before: BudgetVec<u32>,
    count: usize,
}

impl Bitset {
    /// Adds rank counts to a set over at most 2^32 ids. One pass.
    pub fn ranked(self, budget: &Budget, who: &'static str) -> Result<Ranks, StageError> {
        let mut before = budget.zeroed(who, self.words.len())?;
        let mut count = 0;
        for (before, word) in before.iter_mut().zip(self.words.iter()) {
            *before = count as u32;
            count += word.count_ones() as usize;
        }
        Ok(Ranks { set: self, before, count })
    }
}

impl Ranks {
    /// Number of elements.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of elements before `i`, or `None` if `i` is not in the set.
    #[inline]
    pub fn rank(&self, i: usize) -> Option<usize> {
        let (word, bit) = (*self.set.words.get(i / 64)?, 1 << (i % 64));
        (word & bit != 0).then(|| self.before[i / 64] as usize + (word & (bit - 1)).count_ones() as usize)
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
        assert!(set.insert(127) && set.insert(65));
        let all: Vec<usize> = (0..set.words()).flat_map(|at| set.take_word(at).collect::<Vec<_>>()).collect();
        assert_eq!(all, [0, 64, 65, 127]);
        assert!(!set.contains(0) && !set.contains(127));
    }

    #[test]
    fn threads_add_to_one_set() {
        let budget = Budget::new(1 << 20);
        let mut set = Bitset::new(&budget, "test", 1000).unwrap();
        let shared = set.shared();
        std::thread::scope(|scope| {
            for step in [2, 3, 7] {
                scope.spawn(move || (0..1000).step_by(step).for_each(|i| shared.insert(i)));
            }
        });
        let among = |i: &usize| [2, 3, 7].iter().any(|step| i.is_multiple_of(*step));
        (0..1000).for_each(|i| assert_eq!(set.contains(i), among(&i), "{i}"));
        let shared = set.shared();
        (0..1000).for_each(|i| assert_eq!(shared.contains(i), among(&i), "{i}"));
        let mut all = Bitset::new(&budget, "test", 1000).unwrap();
        (0..1000).filter(|i| i % 5 == 0).for_each(|i| assert!(all.insert(i)));
        let new = (0..1000).filter(|i| i % 5 != 0 && among(i)).count();
        assert_eq!((all.add_all(&set), all.count()), (new as u64, 200 + new));
        assert_eq!(all.add_all(&set), 0);
    }

    #[test]
    fn ranks_count_what_comes_before() {
        let budget = Budget::new(1 << 20);
        let mut set = Bitset::new(&budget, "test", 1000).unwrap();
        let elements: Vec<usize> = (0..1000).filter(|i| i % 7 == 0 || (200..300).contains(i)).collect();
        elements.iter().for_each(|&i| assert!(set.insert(i)));
        let ranks = set.ranked(&budget, "test").unwrap();
        assert_eq!(ranks.count(), elements.len());
        (0..1100).for_each(|i| assert_eq!(ranks.rank(i), elements.binary_search(&i).ok(), "{i}"));
    }
}
