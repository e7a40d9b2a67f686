//! The threads that compute: one rayon pool per process.
//!
//! Steps of a run, jobs of an [ordered pool](crate::OrderedPool), columns of a table and pieces of a compressed input are
//! tasks of this pool, so `--threads N` bounds the threads that compute, however many runs and steps are in progress.
//! Threads outside the pool wait: the scheduler for its steps, readers of pipes and stores, the one that hears signals.

use crate::divisible;
use crate::fs::before_thread;
use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, available_parallelism};

/// Address space of a thread's stack. A task may run inside another one that waits.
const STACK: usize = 4 << 20;

/// Threads of the pool; 0: one per core.
static LIMIT: AtomicUsize = AtomicUsize::new(0);
static POOL: OnceLock<ThreadPool> = OnceLock::new();

/// Sets the number of threads of the pool. It has no effect once the pool is in use.
pub fn limit(threads: usize) {
    LIMIT.store(threads, Ordering::Relaxed);
}

/// Starts the pool, if it is not yet in use: with fewer threads where the system does not give as many.
///
/// # Errors
/// That of the system where it gives no thread at all.
pub fn start() -> io::Result<()> {
    if POOL.get().is_some() {
        return Ok(());
    }
    let mut threads = match LIMIT.load(Ordering::Relaxed) {
        0 => available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let pool = loop {
        match built(threads) {
            Ok(pool) => break pool,
            Err(error) if threads == 1 => return Err(error),
            Err(_) => threads /= 2,
        }
    };
    // Of two that start it at the same time, one pool is dropped.
    let _ = POOL.set(pool);
    Ok(())
}

fn built(threads: usize) -> io::Result<ThreadPool> {
    let builder = ThreadPoolBuilder::new().num_threads(threads).spawn_handler(|worker| {
        before_thread()?;
        let name = format!("compute-{}", worker.index());
        thread::Builder::new().name(name).stack_size(STACK).spawn(|| worker.run()).map(drop)
    });
    builder.build().map_err(io::Error::other)
}

/// Whether the calling thread is one of the pool.
#[must_use]
pub fn is_inside() -> bool {
    rayon::current_thread_index().is_some()
}

/// Runs `work` in the calling thread, with a scope in which it may spawn tasks; returns when they are done.
///
/// # Panics
/// Outside the pool, before [`start`] has succeeded.
pub fn scope<'scope, R>(work: impl FnOnce(&Scope<'scope>) -> R) -> R {
    match POOL.get() {
        Some(pool) if !is_inside() => pool.in_place_scope(work),
        None if !is_inside() => unreachable!("the pool is started first"),
        _ => rayon::in_place_scope(work),
    }
}

/// The results of `work` for each item, in order, computed by all threads; by the calling thread alone if `threads` is 1, or if
/// the system gives no other one.
pub fn map<T: Send, R: Send>(threads: usize, items: &mut [T], work: impl Fn(&mut T) -> R + Sync + Send) -> Vec<R> {
    map_with(threads, items, || (), |(), item| work(item))
}

/// As [`map`], with a state such as a buffer that items processed one after the other share.
pub fn map_with<T: Send, R: Send, S>(
    threads: usize,
    items: &mut [T],
    state: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, &mut T) -> R + Sync + Send,
) -> Vec<R> {
    if threads < 2 || items.len() < 2 || start().is_err() {
        let mut state = state();
        return items.iter_mut().map(|item| divisible::part(|| work(&mut state, item))).collect();
    }
    install(|| items.par_iter_mut().map_init(state, work).collect())
}

/// Runs `work` in the calling thread, and `other` meanwhile if `wanted`. The result of `other` is `None` if it was not wanted, or if the
/// system gives no other thread; the result of `work` decides.
pub fn beside<A: Send, B, E>(
    wanted: bool,
    other: impl FnOnce() -> A + Send,
    work: impl FnOnce() -> Result<B, E>,
) -> Result<Option<A>, E> {
    let mut result = None;
    if !wanted || start().is_err() {
        return work().map(|_| None);
    }
    scope(|scope| {
        scope.spawn(|_| result = Some(other()));
        work()
    })?;
    Ok(result)
}

/// Runs `work` in the pool, in the calling thread if that is one of it. The pool is started.
fn install<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match POOL.get() {
        Some(pool) if !is_inside() => pool.install(work),
        _ => work(),
    }
}

/// The results of both, computed side by side where the context has several threads.
pub fn join<A: Send, B: Send>(
    threads: usize,
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    if threads < 2 || start().is_err() {
        let first = first();
        return (first, divisible::part(second));
    }
    install(|| rayon::join(first, second))
}

/// Queues a task that nobody waits for. Returns false, without having run it, before the pool is in use. A panic of the task is
/// dropped.
pub fn detach(task: impl FnOnce() + Send + 'static) -> bool {
    let task = || {
        let _ = panic::catch_unwind(AssertUnwindSafe(task));
    };
    match POOL.get() {
        _ if is_inside() => rayon::spawn(task),
        Some(pool) => pool.spawn(task),
        None => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panics;
    use std::collections::BTreeSet;
    use std::sync::Mutex;
    use std::time::Duration;

    #[test]
    fn results_keep_their_order_and_no_other_thread_computes() {
        start().unwrap();
        let threads = Mutex::new(BTreeSet::new());
        for at_once in [1, 2, 7] {
            let mut items: Vec<u64> = (0..100).collect();
            let squares = map(at_once, &mut items, |item| {
                thread::sleep(Duration::from_micros(100));
                if at_once > 1 {
                    threads.lock().unwrap().insert(thread::current().name().map(str::to_owned));
                }
                *item * *item
            });
            assert!(squares.iter().zip(0..).all(|(&square, at)| square == at * at));
        }
        let threads = threads.into_inner().unwrap();
        assert!(
            threads.iter().all(|name| name.as_ref().is_some_and(|name| name.starts_with("compute-"))),
            "{threads:?}"
        );
        assert!(threads.len() <= available_parallelism().unwrap().get());
    }

    #[test]
    fn a_detached_task_may_panic() {
        start().unwrap();
        let (send, receive) = std::sync::mpsc::channel();
        assert!(detach(|| panics::silent(|| panic!("of a task")).unwrap_or_default()));
        scope(|scope| scope.spawn(move |_| assert!(detach(move || send.send(7).unwrap()))));
        assert_eq!(receive.recv(), Ok(7));
    }
}
