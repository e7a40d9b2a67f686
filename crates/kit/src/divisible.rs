//! Measures the parallelizable share of a thread's time.
//!
//! Parallel stages split their input into parts. With one thread the calling thread processes the parts in sequence;
//! their time is the time that more threads would divide. The rest is the serial fraction of Amdahl's law.

use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    static SPENT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static IS_PART: Cell<bool> = const { Cell::new(false) };
}

/// Runs a parallelizable part and adds its time to this thread's sum. Reads the clock twice, so parts should take
/// microseconds at least. Nested parts count once.
pub fn part<R>(work: impl FnOnce() -> R) -> R {
    if IS_PART.replace(true) {
        return work();
    }
    let _part = Part(Instant::now());
    work()
}

/// Adds its time when it ends, also by a panic.
struct Part(Instant);

impl Drop for Part {
    fn drop(&mut self) {
        SPENT.with(|spent| spent.set(spent.get() + self.0.elapsed()));
        IS_PART.set(false);
    }
}

/// Returns and resets this thread's sum, seconds.
pub fn take() -> f64 {
    SPENT.take().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_summed_for_each_thread() {
        let wait = || std::thread::sleep(Duration::from_millis(2));
        assert_eq!(take(), 0.0);
        part(wait);
        part(wait);
        std::thread::scope(|scope| scope.spawn(|| assert_eq!(take(), 0.0)).join().unwrap());
        assert!(take() >= 0.004);
        assert_eq!(take(), 0.0);
    }
}
