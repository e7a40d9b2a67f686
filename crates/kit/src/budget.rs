//! The memory budget of a run.
//!
//! Every buffer that grows with the input is a named [`Reservation`] against the [`Budget`], released on drop. Stages
//! that run in parallel get memory grants, which are budgets themselves ([`Budget::part`]), so no stage takes memory
//! reserved for another. *Not* counted are the fixed buffers of readers and writers (a few megabytes, see
//! [`FIXED_OVERHEAD`](crate::overhead::FIXED_OVERHEAD)), code, and pages of memory-mapped columns without a
//! reservation.

use crate::{StageError, hint, stop};
use bytemuck::Zeroable;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Margin of a memory grant for small allocations: 1/16 of the declared arrays.
const MARGIN: u64 = 16;

/// A memory grant for arrays of `bytes`.
pub const fn with_margin(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / MARGIN)
}

/// The part of `bytes` that arrays may take; arrays whose grant is [`with_margin`] fit.
pub const fn without_margin(bytes: u64) -> u64 {
    bytes - bytes / (MARGIN + 1)
}

/// A memory limit shared by all stages of a run. Clones share the limit.
#[derive(Clone, Debug)]
pub struct Budget {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limit: u64,
    used: AtomicU64,
    peak: AtomicU64,
    /// Set to end the run; shared with all grants.
    stopped: Arc<AtomicBool>,
    /// For a grant: its reservation in the parent budget.
    _whole: Option<Reservation>,
}

impl Budget {
    /// Creates a budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self::within(limit, Arc::new(AtomicBool::new(false)), None)
    }

    fn within(limit: u64, stopped: Arc<AtomicBool>, whole: Option<Reservation>) -> Self {
        let (used, peak) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { shared: Arc::new(Shared { limit, used, peak, stopped, _whole: whole }) }
    }

    /// Makes all accesses to non-resident pages fail with [`StageError::Cancelled`], in all grants, so long loops over
    /// paged arrays end soon even if they rarely check for cancellation.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns [`StageError::Cancelled`] after [`Self::stop`]: for long loops without a context.
    pub fn check(&self) -> Result<(), StageError> {
        if self.shared.stopped.load(Ordering::Relaxed) || stop::flag().load(Ordering::Relaxed) {
            Err(StageError::Cancelled)
        } else {
            Ok(())
        }
    }

    /// Splits off a grant of `bytes`, held until the grant and all its clones are dropped.
    pub fn part(&self, who: &'static str, bytes: u64) -> Result<Self, StageError> {
        Ok(Self::within(bytes, Arc::clone(&self.shared.stopped), Some(self.reserve(who, bytes)?)))
    }

    /// The limit, bytes.
    pub fn limit(&self) -> u64 {
        self.shared.limit
    }

    /// Reserved bytes.
    pub fn used(&self) -> u64 {
        self.shared.used.load(Ordering::Relaxed)
    }

    /// Peak of reserved bytes.
    pub fn peak(&self) -> u64 {
        self.shared.peak.load(Ordering::Relaxed)
    }

    /// Free bytes.
    pub fn free(&self) -> u64 {
        self.limit().saturating_sub(self.used())
    }

    /// Reserves `bytes` for `who`.
    pub fn reserve(&self, who: &'static str, bytes: u64) -> Result<Reservation, StageError> {
        let mut reservation = Reservation { budget: self.clone(), who, bytes: 0 };
        reservation.grow(bytes)?;
        Ok(reservation)
    }

    /// Allocates a zeroed array of `len` elements.
    pub fn zeroed<T: Zeroable + Clone>(&self, who: &'static str, len: usize) -> Result<BudgetVec<T>, StageError> {
        self.filled(who, len, T::zeroed())
    }

    /// Allocates an array of `len` copies of `value`.
    pub fn filled<T: Clone>(&self, who: &'static str, len: usize, value: T) -> Result<BudgetVec<T>, StageError> {
        let reservation = self.reserve(who, (len * size_of::<T>()) as u64)?;
        let mut items = Vec::with_capacity(len);
        hint::large_pages(items.spare_capacity_mut());
        items.resize(len, value);
        Ok(BudgetVec { items, reservation })
    }

    /// Allocates `len` zeros with `calloc`: pages are cleared on first touch, by the threads that write the array.
    pub fn zeros(&self, who: &'static str, len: usize) -> Result<BudgetVec<u32>, StageError> {
        let reservation = self.reserve(who, (len * size_of::<u32>()) as u64)?;
        let mut items = vec![0; len];
        hint::large_pages(&mut items);
        Ok(BudgetVec { items, reservation })
    }

    /// Creates an empty array that grows together with its reservation.
    pub fn growing<T>(&self, who: &'static str) -> BudgetVec<T> {
        BudgetVec { items: Vec::new(), reservation: Reservation { budget: self.clone(), who, bytes: 0 } }
    }

    /// Creates an empty array with capacity for `len` elements.
    pub fn with_room<T>(&self, who: &'static str, len: usize) -> Result<BudgetVec<T>, StageError> {
        let reservation = self.reserve(who, (len * size_of::<T>()) as u64)?;
        Ok(BudgetVec { items: Vec::with_capacity(len), reservation })
    }

    fn take(&self, who: &'static str, bytes: u64) -> Result<(), StageError> {
        let limit = self.limit();
        let taken = self.shared.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|&sum| sum <= limit)
        });
        match taken {
            Ok(before) => {
                self.shared.peak.fetch_max(before + bytes, Ordering::Relaxed);
                Ok(())
            }
            Err(used) => Err(StageError::Budget { who, wanted: bytes, free: limit - used, limit }),
        }
    }
}

/// Reserved bytes of the budget, released on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    who: &'static str,
    bytes: u64,
}

impl Reservation {
    /// Reserved bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reserves `bytes` more; on error the reservation is unchanged.
    pub fn grow(&mut self, bytes: u64) -> Result<(), StageError> {
        self.budget.take(self.who, bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Releases `bytes`, or all if fewer are reserved.
    pub fn shrink(&mut self, bytes: u64) {
        let given = bytes.min(self.bytes);
        self.bytes -= given;
        self.budget.shared.used.fetch_sub(given, Ordering::Relaxed);
    }

    /// Splits off `bytes`, or all if fewer are reserved, as a reservation for `who`.
    pub fn split(&mut self, who: &'static str, bytes: u64) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { budget: self.budget.clone(), who, bytes }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.shared.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// An array with a reservation. Derefs to a slice.
#[derive(Debug)]
pub struct BudgetVec<T> {
    items: Vec<T>,
    reservation: Reservation,
}

impl<T> BudgetVec<T> {
    /// Appends, doubling the reservation when the array is full.
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), StageError> {
        if self.items.len() == self.items.capacity() {
            self.make_room()?;
        }
        self.items.push(item);
        Ok(())
    }

    #[cold]
    fn make_room(&mut self) -> Result<(), StageError> {
        let more = self.items.capacity().max(1024);
        self.reservation.grow((more * size_of::<T>()) as u64)?;
        self.items.reserve_exact(more);
        Ok(())
    }

    /// Removes and returns the last element.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.items.pop()
    }

    /// Retains the elements for which `keep(position, element)` returns true.
    pub fn retain_mut(&mut self, mut keep: impl FnMut(usize, &mut T) -> bool) {
        let mut position = 0;
        self.items.retain_mut(|item| {
            position += 1;
            keep(position - 1, item)
        });
    }

    /// Removes all elements; the memory stays reserved.
    pub fn clear(&mut self) {
        self.items.clear();
    }
}

impl<T> Deref for BudgetVec<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for BudgetVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_come_and_go() {
        let budget = Budget::new(100);
        let first = budget.reserve("first", 60).unwrap();
        let refused = budget.reserve("second", 41).unwrap_err();
        assert!(matches!(refused, StageError::Budget { who: "second", wanted: 41, free: 40, limit: 100 }));
        drop(first);
        assert_eq!((budget.used(), budget.peak()), (0, 60));
        assert!(budget.reserve("second", 100).is_ok());
    }

    #[test]
    fn reservations_shrink_and_split() {
        let budget = Budget::new(100);
        let mut whole = budget.reserve("whole", 60).unwrap();
        let part = whole.split("part", 20);
        assert_eq!((whole.bytes(), part.bytes(), budget.used()), (40, 20, 60));
        whole.shrink(30);
        assert_eq!((whole.bytes(), budget.used()), (10, 30));
        drop((whole, part));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn parts_are_budgets_of_their_own() {
        let budget = Budget::new(100);
        let part = budget.part("stage", 70).unwrap();
        assert_eq!((budget.free(), part.free()), (30, 70));
        assert!(budget.part("other", 31).is_err() && part.reserve("array", 71).is_err());
        let array = part.reserve("array", 70).unwrap();
        drop(part);
        assert_eq!(budget.free(), 30, "the array still belongs to the part");
        drop(array);
        assert_eq!(budget.free(), 100);
    }

    #[test]
    fn arrays_fit_their_grant() {
        for bytes in (0..5000).chain([u64::MAX / 2, u64::MAX]) {
            assert!(without_margin(with_margin(bytes)) >= bytes.min(u64::MAX - u64::MAX / 17), "{bytes}");
        }
    }

    #[test]
    fn growing_arrays_are_counted() {
        let budget = Budget::new(5000);
        let mut bytes = budget.growing::<u8>("bytes");
        for i in 0..2048 {
            bytes.push(i as u8).unwrap();
        }
        assert_eq!(budget.used(), 2048);
        bytes.push(0).unwrap();
        assert_eq!(budget.used(), 4096);
        for _ in 2049..4096 {
            bytes.push(0).unwrap();
        }
        assert!(bytes.push(0).is_err());
        assert_eq!(bytes.len(), 4096);
    }
}
