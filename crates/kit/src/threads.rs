//! The thread pool: one rayon pool per process runs all computation.
//!
//! Steps of a run, jobs of an [ordered pool](crate::OrderedPool), columns of a table and pieces of a compressed input are
//! tasks of this pool, so `--threads N` bounds the computing threads, however many runs and steps are in progress.
//! Threads outside the pool wait: the scheduler, readers of pipes and stores, the signal handler.
//!
//! A thread that waits for its tasks runs those that have not started, and no others. Rayon's own waits steal any task:
//! a whole step, or the analysis of another input, would run on the stack of the waiting one and delay it.

use crate::divisible;
use crate::fs::before_thread;
use rayon::{ThreadPool, ThreadPoolBuilder, Yield};
use std::any::Any;
use std::hint;
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, available_parallelism};
use std::time::Duration;

/// Address space of a thread's stack.
const STACK: usize = 4 << 20;

/// A waiting thread spins this often, then sleeps for [`LOOK`] at a time.
const SPINS: u32 = 200;
const LOOK: Duration = Duration::from_millis(1);

/// Threads of the pool; 0: one per core.
static LIMIT: AtomicUsize = AtomicUsize::new(0);
static POOL: OnceLock<ThreadPool> = OnceLock::new();

/// Sets the number of threads. No effect once the pool has started.
pub fn limit(threads: usize) {
    LIMIT.store(threads, Ordering::Relaxed);
}

/// Starts the pool if it has not started; with fewer threads if the system refuses some. Fails if it refuses all.
pub fn start() -> io::Result<()> {
    static STARTING: Mutex<()> = Mutex::new(());
    if POOL.get().is_some() {
        return Ok(());
    }
    let _one_at_a_time = locked(&STARTING);
    if POOL.get().is_some() {
        return Ok(());
    }
    let wanted = match LIMIT.load(Ordering::Relaxed) {
        0 => available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let mut threads = Vec::new();
    while threads.len() < wanted {
        match thread_of_pool(threads.len()) {
            Ok(thread) => threads.push(thread),
            Err(error) if threads.is_empty() => return Err(error),
            Err(_) => break,
        }
    }
    let builder = ThreadPoolBuilder::new().num_threads(threads.len()).spawn_handler(|worker| {
        threads.pop().map_or_else(
            || Err(io::Error::other("no thread")),
            |thread| thread.send(worker).map_err(|_| io::Error::other("a thread ended")),
        )
    });
    let pool = builder.build().map_err(io::Error::other)?;
    let _ = POOL.set(pool);
    Ok(())
}

/// Starts a thread that waits for its rayon worker. The pool is built once the number of threads is known.
fn thread_of_pool(number: usize) -> io::Result<Sender<rayon::ThreadBuilder>> {
    before_thread()?;
    let (send, receive) = channel();
    let work = move || {
        if let Ok(worker) = receive.recv() {
            rayon::ThreadBuilder::run(worker);
        }
    };
    thread::Builder::new().name(format!("compute-{number}")).stack_size(STACK).spawn(work)?;
    Ok(send)
}

/// True in a thread of the pool.
pub fn is_inside() -> bool {
    rayon::current_thread_index().is_some()
}

/// Runs `work` in the calling thread and waits for the tasks it spawned. A panic of a task is resumed at the end.
///
/// # Panics
/// Before [`start`] has succeeded.
pub fn scope<'scope, R>(work: impl FnOnce(&Tasks<'scope>) -> R) -> R {
    assert!(is_inside() || POOL.get().is_some(), "the pool is started first");
    let tasks = Tasks { live: Arc::default(), scope: PhantomData };
    let result = {
        // Waits also if `work` panics.
        let _wait = Wait(&tasks.live);
        work(&tasks)
    };
    let panic = locked(&tasks.live.panic).take();
    panic.map_or(result, |cause| panic::resume_unwind(cause))
}

/// Handle of a [`scope`], to spawn tasks.
pub struct Tasks<'scope> {
    live: Arc<Live>,
    /// Makes it invariant in `'scope`, as `std::thread::Scope` is.
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl<'scope> Tasks<'scope> {
    /// Queues a task.
    pub fn spawn(&self, task: impl FnOnce() + Send + 'scope) {
        let task: Box<dyn FnOnce() + Send + 'scope> = Box::new(task);
        // SAFETY: `scope` neither returns nor unwinds before every task has run and is dropped, and `'scope` outlives
        // the call of `scope`. So the task never uses what it borrows after `'scope`.
        let task: Box<dyn FnOnce() + Send + 'static> = unsafe { mem::transmute(task) };
        self.live.count.fetch_add(1, Ordering::AcqRel);
        let live = Arc::clone(&self.live);
        queue(move || {
            let result = panic::catch_unwind(AssertUnwindSafe(task));
            live.end(result.err());
        });
    }
}

/// Queues a task in the pool, which has started.
fn queue(task: impl FnOnce() + Send + 'static) {
    match POOL.get() {
        _ if is_inside() => rayon::spawn(task),
        Some(pool) => pool.spawn(task),
        None => unreachable!("the pool is started first"),
    }
}

/// Unfinished tasks of a scope.
#[derive(Default)]
struct Live {
    count: AtomicUsize,
    /// The first panic of a task.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    none: Condvar,
}

impl Live {
    fn end(&self, panic: Option<Box<dyn Any + Send>>) {
        let mut first = locked(&self.panic);
        if first.is_none() {
            *first = panic;
        }
        if self.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.none.notify_all();
        }
    }
}

/// On drop waits until no task is left. Meanwhile runs queued tasks of this thread only; rayon's scopes would steal
/// others.
struct Wait<'a>(&'a Live);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let Live { count, panic, none } = self.0;
        let mut spins = 0;
        while count.load(Ordering::Acquire) > 0 {
            if let Some(Yield::Executed) = rayon::yield_local() {
                continue;
            }
            if spins < SPINS {
                spins += 1;
                hint::spin_loop();
                continue;
            }
            let guard = locked(panic);
            if count.load(Ordering::Acquire) > 0 {
                drop(none.wait_timeout(guard, LOOK));
            }
        }
    }
}

/// Locks a mutex whose value is valid after a panic, too.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Applies `work` to each item on up to `threads` threads; returns the results in order.
pub fn map<T: Send, R: Send>(threads: usize, items: &mut [T], work: impl Fn(&mut T) -> R + Sync) -> Vec<R> {
    map_with(threads, items, || (), |(), item| work(item))
}

/// As [`map`], with a state per thread, such as a buffer. Items are started in order.
pub fn map_with<T: Send, R: Send, S>(
    threads: usize,
    items: &mut [T],
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &mut T) -> R + Sync,
) -> Vec<R> {
    let helpers = threads.min(items.len()).saturating_sub(1);
    if helpers == 0 || start().is_err() {
        let mut state = state();
        return items.iter_mut().map(|item| divisible::part(|| work(&mut state, item))).collect();
    }
    let results = Mutex::new(Vec::with_capacity(items.len()));
    let waiting = Mutex::new(items.iter_mut().enumerate());
    let serve = || {
        let mut state = state();
        loop {
            let Some((at, item)) = locked(&waiting).next() else { return };
            let result = work(&mut state, item);
            locked(&results).push((at, result));
        }
    };
    scope(|tasks| {
        (0..helpers).for_each(|_| tasks.spawn(serve));
        serve();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|&(at, _)| at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Runs `work` in the calling thread and, if `wanted`, `other` concurrently. The result of `other` is `None` if it did not
/// run, because it was not wanted or the system refuses threads.
pub fn beside<A: Send, B>(wanted: bool, other: impl FnOnce() -> A + Send, work: impl FnOnce() -> B) -> (Option<A>, B) {
    if !wanted || start().is_err() {
        return (None, work());
    }
    let (result, done) = both(other, work);
    (Some(result), done)
}

/// Runs both, concurrently if `threads` is more than one; returns both results.
pub fn join<A: Send, B>(threads: usize, first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    if threads < 2 || start().is_err() {
        return (divisible::part(first), second());
    }
    both(first, second)
}

/// Runs `first` as a task, and `second` in the calling thread. The pool has started.
fn both<A: Send, B>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    let mut result = None;
    let done = scope(|tasks| {
        tasks.spawn(|| result = Some(first()));
        second()
    });
    let Some(result) = result else { unreachable!("the scope waits for its tasks") };
    (result, done)
}

/// Queues a detached task, whose panics are ignored. Returns false, and drops the task, if the pool has not started.
pub fn detach(task: impl FnOnce() + Send + 'static) -> bool {
    let has_started = is_inside() || POOL.get().is_some();
    if has_started {
        queue(|| drop(panic::catch_unwind(AssertUnwindSafe(task))));
    }
    has_started
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
                threads.lock().unwrap().insert(format!("{:?}", thread::current().id()));
                *item * *item
            });
            assert!(squares.iter().zip(0..).all(|(&square, at)| square == at * at));
        }
        // The calling thread is one of them.
        assert!(threads.into_inner().unwrap().len() <= 1 + available_parallelism().unwrap().get());
    }

    #[test]
    fn a_waiting_thread_does_nothing_but_its_own_tasks() {
        start().unwrap();
        let nested = AtomicUsize::new(0);
        let depth = || DEPTH.with(std::cell::Cell::get);
        let task = || {
            DEPTH.with(|depth| depth.set(depth.get() + 1));
            let parts = map(3, &mut [1, 2, 3], |_| thread::sleep(Duration::from_micros(300)));
            assert_eq!(parts.len(), 3);
            nested.fetch_max(depth(), Ordering::Relaxed);
            DEPTH.with(|depth| depth.set(depth.get() - 1));
        };
        scope(|tasks| (0..50).for_each(|_| tasks.spawn(task)));
        assert_eq!(nested.into_inner(), 1);
    }

    thread_local! {
        static DEPTH: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    #[test]
    fn tasks_end_before_a_panic_leaves_the_scope() {
        start().unwrap();
        let ended = AtomicUsize::new(0);
        let task = || {
            thread::sleep(Duration::from_millis(2));
            ended.fetch_add(1, Ordering::Relaxed);
        };
        let left = panics::silent(|| {
            scope(|tasks| {
                (0..20).for_each(|_| tasks.spawn(task));
                panic!("of the owner");
            })
        });
        assert!(left.is_none() && ended.load(Ordering::Relaxed) == 20);
    }

    #[test]
    fn both_are_done() {
        for threads in [1, 2, 5] {
            assert_eq!(join(threads, || 7, || "seven"), (7, "seven"));
        }
    }

    #[test]
    #[should_panic(expected = "a task's own")]
    fn a_panic_is_passed_on() {
        join(2, || -> u8 { panic!("a task's own") }, || ());
    }

    #[test]
    fn a_detached_task_may_panic() {
        start().unwrap();
        let (send, receive) = std::sync::mpsc::channel();
        assert!(detach(|| panics::silent(|| panic!("of a task")).unwrap_or_default()));
        scope(|tasks| tasks.spawn(move || assert!(detach(move || send.send(7).unwrap()))));
        assert_eq!(receive.recv(), Ok(7));
    }
}
