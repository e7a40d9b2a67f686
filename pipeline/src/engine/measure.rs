//! Progress of a stage, and an estimate of the budget it needs.

use heaplake_kit::{Progress, StageError, Stats};
use std::sync::atomic::{AtomicU64, Ordering};

/// Safety factor of the estimate: a stage may grow faster towards the end, and arrays double.
const SAFETY: u64 = 2;

/// Forwards progress and records its last value.
pub struct Measured<'a> {
    inner: &'a dyn Progress,
    total: AtomicU64,
    done: AtomicU64,
}

impl<'a> Measured<'a> {
    /// Starts at zero.
    pub fn new(inner: &'a dyn Progress) -> Self {
        Self { inner, total: AtomicU64::new(0), done: AtomicU64::new(0) }
    }

    /// Returns the outcome of a stage. If it ran out of memory that it could not foresee, the error asks for a budget
    /// extrapolated from its progress; with unknown progress, for at least twice the budget.
    pub fn outcome(&self, outcome: Result<Stats, StageError>) -> Result<Stats, StageError> {
        let Err(StageError::Budget { who, wanted, free, limit }) = outcome else { return outcome };
        let (total, done) = (self.total.load(Ordering::Relaxed), self.done.load(Ordering::Relaxed));
        let used = (limit - free).saturating_add(wanted);
        let known = done > 0 && done <= total;
        let all = if known { u128::from(used) * u128::from(total) / u128::from(done) } else { used.max(limit).into() };
        let all = u64::try_from(all).unwrap_or(u64::MAX).saturating_mul(SAFETY);
        Err(StageError::Budget { who, wanted: all.saturating_sub(limit - free).max(wanted), free, limit })
    }
}

impl Progress for Measured<'_> {
    fn begin(&self, stage: &'static str, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        self.inner.begin(stage, total);
    }

    fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
        self.inner.advance(units);
    }

    fn end(&self) {
        self.inner.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::stage::Silent;

    fn asked(total: u64, done: u64) -> u64 {
        let measured = Measured::new(&Silent);
        measured.begin("it", total);
        measured.advance(done);
        let refused = StageError::Budget { who: "it", wanted: 10, free: 5, limit: 95 };
        match measured.outcome(Err(refused)) {
            Err(StageError::Budget { wanted, free: 5, limit: 95, .. }) => wanted + 90,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_refusal_asks_for_what_suffices() {
        assert_eq!(asked(100, 25), 2 * 4 * 100, "a quarter took 100");
        assert_eq!(asked(100, 100), 2 * 100);
        assert_eq!(asked(0, 25), 2 * 100, "nobody knows");
        assert_eq!(asked(100, 0), 2 * 100);
        assert_eq!(asked(1, u64::MAX), 2 * 100, "more than was announced");
    }
}
