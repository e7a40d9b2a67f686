//! An open-addressing hash table from a hash to the first node with it. Used by [`super::equal_in_memory`].

use super::equal_nodes::Place;
use heaplake_kit::{Budget, BudgetVec, ReadAt, StageError};

/// Initial number of entries.
const LEAST: usize = 1 << 12;

/// See the module.
pub(super) struct Firsts<'a> {
    budget: &'a Budget,
    entries: BudgetVec<First>,
    count: usize,
}

#[derive(Clone, Copy)]
struct First {
    hash: u64,
    /// [`NO_FIRST`]'s node marks an empty entry.
    at: Place,
}

const NO_FIRST: First = First { hash: 0, at: Place { node: u32::MAX, edges: 0 } };

impl<'a> Firsts<'a> {
    /// Starts empty.
    pub(super) fn new(budget: &'a Budget) -> Result<Self, StageError> {
        Ok(Self { budget, entries: Self::entries(budget, LEAST)?, count: 0 })
    }

    fn entries(budget: &Budget, count: usize) -> Result<BudgetVec<First>, StageError> {
        budget.filled("equality: first nodes", count, NO_FIRST)
    }

    /// Returns the first slot to probe for a hash.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.entries.len() - 1)
    }

    /// Prefetches the slot of a hash.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        self.entries[..].prefetch(self.place(hash));
    }

    /// Returns the first node with a hash, which is this one if there was none.
    #[inline]
    pub(super) fn find(&mut self, hash: u64, at: Place) -> Result<Place, StageError> {
        let mut place = self.place(hash);
        loop {
            let entry = self.entries[place];
            if entry.at.node == NO_FIRST.at.node {
                break;
            }
            if entry.hash == hash {
                return Ok(entry.at);
            }
            place = (place + 1) & (self.entries.len() - 1);
        }
        self.entries[place] = First { hash, at };
        self.count += 1;
        if self.count > self.entries.len() / 2 {
            self.grow()?;
        }
        Ok(at)
    }

    #[cold]
    fn grow(&mut self) -> Result<(), StageError> {
        let larger = Self::entries(self.budget, self.entries.len() * 2)?;
        let entries = std::mem::replace(&mut self.entries, larger);
        for &entry in entries.iter().filter(|entry| entry.at.node != NO_FIRST.at.node) {
            let mut place = self.place(entry.hash);
            while self.entries[place].at.node != NO_FIRST.at.node {
                place = (place + 1) & (self.entries.len() - 1);
            }
            self.entries[place] = entry;
        }
        Ok(())
    }
}
