//! Memory accounts for hash tables and small texts.

use crate::{Budget, Reservation, StageError};

/// Granularity of reservations, so that counting is cheap per item.
const STEP: u64 = 64 << 10;

/// Up to this many bytes, the standard library sorts with a buffer as large as the items.
const SORTED_WHOLE: usize = 8 << 20;

/// Returns the heap bytes of an allocation of `bytes`, with header and rounding.
pub fn allocated(bytes: usize) -> u64 {
    (bytes as u64).saturating_add(8).next_multiple_of(16).max(32)
}

/// A memory account that reserves in steps, for containers that allocate on their own.
#[derive(Debug)]
pub struct MemoryAccount {
    reservation: Reservation,
    taken: u64,
}

impl MemoryAccount {
    /// Creates an empty account for `who`.
    ///
    /// # Errors
    /// None in practice: reserving 0 bytes fits any budget.
    pub fn new(budget: &Budget, who: &'static str) -> Result<Self, StageError> {
        Ok(Self { reservation: budget.reserve(who, 0)?, taken: 0 })
    }

    /// Charges `bytes`.
    #[inline]
    pub fn add(&mut self, bytes: u64) -> Result<(), StageError> {
        self.taken += bytes;
        if self.taken > self.reservation.bytes() { self.grow() } else { Ok(()) }
    }

    /// Credits `bytes`; they stay reserved.
    pub fn sub(&mut self, bytes: u64) {
        self.taken = self.taken.saturating_sub(bytes);
    }

    /// Releases all reserved bytes.
    pub fn release(&mut self) {
        self.taken = 0;
        self.reservation.shrink(u64::MAX);
    }

    /// Reserves capacity for `more` items, at least doubling it; charges the budget before the allocation.
    #[inline]
    pub fn make_room<T>(&mut self, items: &mut Vec<T>, more: usize) -> Result<(), StageError> {
        if more <= items.capacity() - items.len() { Ok(()) } else { self.double(items, more) }
    }

    #[cold]
    fn double<T>(&mut self, items: &mut Vec<T>, more: usize) -> Result<(), StageError> {
        let before = items.capacity();
        let capacity = (items.len() + more).max(2 * before);
        self.add(((capacity - before) * size_of::<T>()) as u64)?;
        items.reserve_exact(capacity - items.len());
        Ok(())
    }

    /// Sorts stably; the sort buffer is charged meanwhile.
    pub fn sort_by_key<T, K: Ord>(
        &mut self,
        items: &mut [T],
        key: impl FnMut(&T) -> K + Copy,
    ) -> Result<(), StageError> {
        if items.is_sorted_by_key(key) {
            return Ok(());
        }
        // The buffer of the standard library: half of the items, or all if they are small.
        let bytes = size_of_val(items);
        let buffer = bytes.div_ceil(2).max(bytes.min(SORTED_WHOLE)) as u64;
        self.add(buffer)?;
        items.sort_by_key(key);
        self.sub(buffer);
        Ok(())
    }

    #[cold]
    fn grow(&mut self) -> Result<(), StageError> {
        self.reservation.grow((self.taken - self.reservation.bytes()).next_multiple_of(STEP))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_and_sorting_are_counted() {
        let budget = Budget::new(1 << 20);
        let mut account = MemoryAccount::new(&budget, "test").unwrap();
        let mut items: Vec<u64> = Vec::new();
        for item in (0..20_000).rev() {
            account.make_room(&mut items, 1).unwrap();
            items.push(item);
        }
        let taken = (items.capacity() * size_of::<u64>()) as u64;
        assert!((taken..taken + STEP).contains(&budget.used()), "{} of {taken}", budget.used());
        account.sort_by_key(&mut items, |&item| item / 2).unwrap();
        assert!(items.is_sorted_by_key(|item| item / 2) && items[0] == 1, "equal items stay in order");
        assert!(budget.peak() >= taken + 20_000 * 8);
        assert!(account.make_room(&mut items, 200_000).is_err() && items.capacity() < 200_000);
    }
}
