//! Sorting, in memory if the items are few and fit, else on disk.
//!
//! Up to [`MOST_IN_MEMORY`] items are sorted at once, which takes less than half a second; more are sorted in runs,
//! with checks for cancellation in between.

use bytemuck::Pod;
use heaplake_kit::sorter::{Sorted, Sorter};
use heaplake_kit::{Budget, BudgetVec, Context, Scratch, StageError};
use heaplake_schemas::scratch::Column;

/// Most items sorted at once.
const MOST_IN_MEMORY: usize = 1 << 21;

/// Items between two checks for cancellation.
const CHECKED: u64 = 1 << 14;

/// Scratch and context of the work at the end of a replay.
#[derive(Clone, Copy)]
pub struct Space<'a> {
    /// The scratch folder.
    pub scratch: &'a Scratch,
    /// Budget and cancellation.
    pub context: &'a Context<'a>,
}

impl<'a> Space<'a> {
    /// The budget.
    pub fn budget(&self) -> &'a Budget {
        &self.context.budget
    }

    /// Checks for cancellation now and then, given the number of each item.
    #[inline]
    pub fn check(&self, number: usize) -> Result<(), StageError> {
        self.context.check_every(CHECKED, number)
    }
}

/// Takes items in any order.
pub(crate) struct Unordered<'a, T> {
    kept: Kept<'a, T>,
    space: Space<'a>,
    count: usize,
}

enum Kept<'a, T> {
    Memory(BudgetVec<T>),
    Disk(Box<Sorter<'a, T>>),
}

impl<'a, T: Pod + Ord> Unordered<'a, T> {
    /// Prepares for at most `most` items; the columns are used if these do not fit in memory.
    pub(crate) fn new(
        who: &'static str,
        most: usize,
        columns: [Column<T>; 2],
        space: Space<'a>,
    ) -> Result<Self, StageError> {
        let fits = (most as u64).saturating_mul(size_of::<T>() as u64) <= space.budget().free() / 2;
        let kept = if fits && most <= MOST_IN_MEMORY {
            Kept::Memory(space.budget().with_room(who, most)?)
        } else {
            Kept::Disk(Box::new(Sorter::new(who, most.min(MOST_IN_MEMORY), columns, space.budget(), space.scratch)?))
        };
        Ok(Self { kept, space, count: 0 })
    }

    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Adds an item.
    #[inline]
    pub(crate) fn push(&mut self, item: T) -> Result<(), StageError> {
        self.space.check(self.count)?;
        self.count += 1;
        match &mut self.kept {
            Kept::Memory(items) => items.push(item),
            Kept::Disk(sorter) => sorter.push(item),
        }
    }

    /// Sorts the items.
    pub(crate) fn finish(self) -> Result<Ordered<'a, T>, StageError> {
        let items = match self.kept {
            Kept::Memory(mut items) => {
                items.sort_unstable();
                Source::Memory(items)
            }
            Kept::Disk(sorter) => Source::Disk(sorter.finish()?),
        };
        Ok(Ordered { items, space: self.space, at: 0 })
    }
}

/// Returns items in order.
pub(crate) struct Ordered<'a, T> {
    items: Source<'a, T>,
    space: Space<'a>,
    at: usize,
}

enum Source<'a, T> {
    Memory(BudgetVec<T>),
    Disk(Sorted<'a, T>),
}

impl<T: Pod + Ord> Ordered<'_, T> {
    /// Returns the next item.
    #[inline]
    pub(crate) fn pop(&mut self) -> Result<Option<T>, StageError> {
        self.space.check(self.at)?;
        self.at += 1;
        match &mut self.items {
            Source::Memory(items) => Ok(items.get(self.at - 1).copied()),
            Source::Disk(sorted) => sorted.pop(),
        }
    }

    /// Bytes spilled to disk.
    pub(crate) fn spilled(&self) -> u64 {
        match &self.items {
            Source::Memory(_) => 0,
            Source::Disk(sorted) => sorted.bytes(),
        }
    }
}
