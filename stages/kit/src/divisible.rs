//! How much of the work of a thread others could share.
//!
//! Stages that use several threads give each a part of the input. With one thread these parts are worked on by the calling
//! thread, one after the other; the time that they take is that which more threads would divide. What remains is the part
//! of Amdahl's law that no number of threads makes shorter.

use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    static SPENT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static IS_PART: Cell<bool> = const { Cell::new(false) };
}

/// Does work that is a part of what threads could share, and counts its time for this thread. For parts of some
/// microseconds at least; it looks at the clock twice. A part of a part is counted once.
pub fn part<R>(work: impl FnOnce() -> R) -> R {
    if IS_PART.replace(true) {
        return work();
    }
    let begun = Instant::now();
    let result = work();
    SPENT.with(|spent| spent.set(spent.get() + begun.elapsed()));
    IS_PART.set(false);
    result
}

/// Seconds that this thread spent on such parts since it was last asked.
#[must_use]
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
