//! Runs two closures concurrently.

use crate::fs::before_thread;
use crate::{Context, divisible};
use std::panic;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Runs both closures and returns their results. With several threads the first, which should be the shorter one, runs
/// on its own thread; with one thread it counts as [divisible](divisible::part). Panics are propagated.
pub fn both<A: Send, B>(context: &Context<'_>, first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    if context.threads < 2 {
        let first = divisible::part(first);
        return (first, second());
    }
    // The spawned thread takes the work; this thread does if the spawn failed.
    let work = &Mutex::new(Some(first));
    let take = move || work.lock().unwrap_or_else(PoisonError::into_inner).take().map(|first| first());
    thread::scope(|scope| {
        let started = before_thread().and_then(|()| thread::Builder::new().spawn_scoped(scope, take)).ok();
        let second = second();
        let first = match started.map(thread::ScopedJoinHandle::join) {
            None => take(),
            Some(Ok(first)) => first,
            Some(Err(cause)) => panic::resume_unwind(cause),
        };
        match first {
            Some(first) => (first, second),
            None => unreachable!("nobody else takes the work"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Budget;
    use crate::stage::Silent;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::channel;

    fn with(threads: usize, run: impl FnOnce(&Context<'_>)) {
        let cancel = AtomicBool::new(false);
        run(&Context { budget: Budget::new(1 << 10), threads, progress: &Silent, cancel: &cancel });
    }

    #[test]
    fn both_are_done() {
        for threads in [1, 2, 5] {
            with(threads, |context| assert_eq!(both(context, || 7, || "seven"), (7, "seven")));
        }
    }

    #[test]
    fn with_two_threads_they_are_done_at_the_same_time() {
        let (send, receive) = channel();
        with(2, |context| assert_eq!(both(context, move || receive.recv(), || send.send(5)), (Ok(5), Ok(()))));
    }

    #[test]
    #[should_panic(expected = "the first one's own")]
    fn a_panic_is_passed_on() {
        with(2, |context| {
            let first = || -> u8 { panic!("the first one's own") };
            both(context, first, || ());
        });
    }
}
