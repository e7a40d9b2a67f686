//! Counting what hash tables and small texts take.

use crate::{Budget, Reservation, StageError};

/// Bytes that are reserved at once, so that counting costs nothing per item.
const STEP: u64 = 64 << 10;

/// A reservation that grows with a number of bytes in steps, for collections that allocate on their own.
#[derive(Debug)]
pub struct Charge {
    reservation: Reservation,
    taken: u64,
}

impl Charge {
    /// Counts for `who`, nothing at first.
    ///
    /// # Errors
    /// None in practice: reserving nothing fits any budget.
    pub fn new(budget: &Budget, who: &'static str) -> Result<Self, StageError> {
        Ok(Self { reservation: budget.reserve(who, 0)?, taken: 0 })
    }

    /// Counts `bytes` more.
    ///
    /// # Errors
    /// [`StageError::Budget`] when they do not fit.
    #[inline]
    pub fn add(&mut self, bytes: u64) -> Result<(), StageError> {
        self.taken += bytes;
        if self.taken > self.reservation.bytes() { self.grow() } else { Ok(()) }
    }

    /// Counts `bytes` less; they stay reserved for what comes next.
    pub fn sub(&mut self, bytes: u64) {
        self.taken = self.taken.saturating_sub(bytes);
    }

    #[cold]
    fn grow(&mut self) -> Result<(), StageError> {
        self.reservation.grow((self.taken - self.reservation.bytes()).next_multiple_of(STEP))
    }
}
