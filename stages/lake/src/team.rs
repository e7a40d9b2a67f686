//! A scoped pool that processes all items of a vector per round, in any order.
//!
//! Items are moved to the threads and returned, so the threads live for several rounds, and the leader owns the items
//! in between.

use heaplake_kit::divisible;
use heaplake_kit::fs::before_thread;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// State shared by threads and leader.
struct Shared<T, K, E> {
    state: Mutex<State<T, K, E>>,
    /// Signals new items or the end.
    called: Condvar,
    /// Signals a returned item.
    returned: Condvar,
}

/// Result of an item: success, error, or panic.
type Outcome<E> = thread::Result<Result<(), E>>;

struct State<T, K, E> {
    waiting: Vec<(usize, T, K)>,
    returned: Vec<(usize, T, Outcome<E>)>,
    is_over: bool,
}

/// The leader's handle.
pub struct Team<'t, T, K, E> {
    shared: &'t Shared<T, K, E>,
    work: &'t (dyn Fn(&mut T, K) -> Result<(), E> + Sync),
}

impl<T, K, E> Shared<T, K, E> {
    fn state(&self) -> MutexGuard<'_, State<T, K, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Processes a waiting item; false if there is none.
    fn take_one(&self, work: &(dyn Fn(&mut T, K) -> Result<(), E> + Sync)) -> bool {
        let Some((at, mut item, task)) = self.state().waiting.pop() else { return false };
        // Panics are resumed in the leader.
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| divisible::part(|| work(&mut item, task))));
        self.state().returned.push((at, item, outcome));
        self.returned.notify_one();
        true
    }

    /// Thread main loop.
    fn serve(&self, work: &(dyn Fn(&mut T, K) -> Result<(), E> + Sync)) {
        loop {
            while self.take_one(work) {}
            let idle = |state: &mut State<T, K, E>| state.waiting.is_empty() && !state.is_over;
            let state = self.called.wait_while(self.state(), idle).unwrap_or_else(PoisonError::into_inner);
            if state.is_over {
                return;
            }
        }
    }
}

/// Ends the threads on drop, even if the leader panics.
struct Over<'t, T, K, E>(&'t Shared<T, K, E>);

impl<T, K, E> Drop for Over<'_, T, K, E> {
    fn drop(&mut self) {
        self.0.state().is_over = true;
        self.0.called.notify_all();
    }
}

/// Runs `leader` with a pool of up to `threads` threads, including the caller's; fewer if the system refuses to start
/// one.
pub fn lead<T: Send, K: Copy + Send, E: Send, O>(
    threads: usize,
    work: impl Fn(&mut T, K) -> Result<(), E> + Sync,
    leader: impl FnOnce(&Team<'_, T, K, E>) -> O,
) -> O {
    let state = State { waiting: Vec::new(), returned: Vec::new(), is_over: false };
    let shared = Shared { state: Mutex::new(state), called: Condvar::new(), returned: Condvar::new() };
    let (shared, work) = (&shared, &work);
    thread::scope(|scope| {
        let _over = Over(shared);
        for _ in 1..threads {
            let serve = move || shared.serve(work);
            if before_thread().and_then(|()| thread::Builder::new().spawn_scoped(scope, serve)).is_err() {
                break;
            }
        }
        leader(&Team { shared, work })
    })
}

impl<T, K: Copy, E> Team<'_, T, K, E> {
    /// Performs a task on all items, which keep their order. Returns the error of the first failed item, after all are
    /// done.
    pub fn each(&self, items: &mut Vec<T>, task: K) -> Result<(), E> {
        let count = items.len();
        self.shared.state().waiting.extend(items.drain(..).enumerate().map(|(at, item)| (at, item, task)).rev());
        self.shared.called.notify_all();
        while self.shared.take_one(self.work) {}
        let pending = |state: &mut State<T, K, E>| state.returned.len() < count;
        let state = self.shared.returned.wait_while(self.shared.state(), pending);
        let mut returned = std::mem::take(&mut state.unwrap_or_else(PoisonError::into_inner).returned);
        returned.sort_unstable_by_key(|&(at, ..)| at);
        let mut first = Ok(());
        for (_, item, outcome) in returned {
            items.push(item);
            first = first.and(outcome.unwrap_or_else(|panic| panic::resume_unwind(panic)));
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_order_and_the_first_error_counts() {
        for threads in [1, 2, 7] {
            let work = |item: &mut u64, add: u64| {
                *item += add;
                if item.is_multiple_of(10) { Err(*item) } else { Ok(()) }
            };
            lead(threads, work, |team| {
                let mut items: Vec<u64> = (0..100).map(|at| at * 100 + 1).collect();
                for round in 2..5 {
                    assert_eq!(team.each(&mut items, 1), Ok(()));
                    assert!(items.iter().zip(0..).all(|(&item, at)| item == at * 100 + round));
                }
                items[7] += 5;
                items[30] += 5;
                assert_eq!(team.each(&mut items, 1), Err(710));
                assert_eq!(items.len(), 100);
            });
        }
    }

    #[test]
    fn a_panic_is_that_of_the_leader() {
        let work = |item: &mut u64, (): ()| if *item == 3 { panic!("three") } else { Ok::<(), ()>(()) };
        let led = || lead(3, work, |team| team.each(&mut (0..10).collect(), ()));
        assert!(heaplake_kit::panics::silent(led).is_none());
    }
}
