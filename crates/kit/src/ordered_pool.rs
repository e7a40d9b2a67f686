//! An ordered pool: jobs that finish in the order in which they were submitted, a bounded reorder buffer on top of the
//! [pool of threads](threads).
//!
//! An [`OrderedPool`] reuses a fixed number of jobs: the calling thread fills a job, any thread processes it, and the
//! calling thread finishes it, strictly in the order of submission. So neither results nor errors depend on the
//! number of threads, and no job is allocated once each has been used. When no job is ready, the calling thread
//! processes one, too.

use crate::threads::locked;
use crate::{Context, Reservation, StageError, divisible, threads};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Interval at which the waiting calling thread checks for cancellation.
const PATIENCE: Duration = Duration::from_millis(100);

/// A thread pool that finishes jobs in submission order; see the module.
pub struct OrderedPool {
    threads: usize,
    /// True if the work is parallelizable, even when there is only one thread.
    is_shared: bool,
    _room: Reservation,
}

impl OrderedPool {
    /// Plans for the threads of the context, at most `most`, fewer if the budget cannot hold their jobs of `job_bytes`
    /// each. The work counts as [divisible](divisible::part) if `most` is more than one.
    ///
    /// # Errors
    /// [`StageError::Budget`] when not even one job fits.
    pub fn plan(context: &Context<'_>, who: &'static str, most: usize, job_bytes: u64) -> Result<Self, StageError> {
        let mut threads = context.threads.clamp(1, most);
        loop {
            match context.budget.reserve(who, Self::jobs(threads) as u64 * job_bytes) {
                Ok(room) => return Ok(Self { threads, is_shared: most > 1, _room: room }),
                Err(error) if threads == 1 => return Err(error),
                Err(_) => threads /= 2,
            }
        }
    }

    /// Number of jobs for this many threads: per thread one in progress and one queued, plus one being filled.
    pub const fn jobs(threads: usize) -> usize {
        if threads > 1 { 2 * threads + 1 } else { 1 }
    }

    /// Number of threads that need at most `jobs` jobs, at least one.
    pub const fn threads(jobs: usize) -> usize {
        if jobs < Self::jobs(2) { 1 } else { (jobs - 1) / 2 }
    }

    /// Processes jobs until `fill` returns false. `worker` makes the function with which a thread processes jobs;
    /// `finish` receives the jobs in order.
    ///
    /// # Errors
    /// The first error of `fill` or `finish` in the order of the jobs, or [`StageError::Cancelled`].
    pub fn run<J, E, W>(
        &self,
        context: &Context<'_>,
        mut fill: impl FnMut(&mut J) -> Result<bool, E>,
        worker: impl Fn() -> W + Sync,
        mut finish: impl FnMut(&mut J) -> Result<(), E>,
    ) -> Result<(), E>
    where
        J: Default + Send,
        E: From<StageError>,
        W: FnMut(&mut J) + Send,
    {
        let mut work = worker();
        if self.threads == 1 || threads::start().is_err() {
            let mut job = J::default();
            while fill(&mut job)? {
                if self.is_shared {
                    divisible::part(|| work(&mut job));
                } else {
                    work(&mut job);
                }
                finish(&mut job)?;
            }
            return Ok(());
        }
        let jobs = Self::jobs(self.threads);
        let (to_do, waiting) = bounded(jobs);
        let (ready, done) = bounded(jobs);
        let tasks = Workers {
            most: self.threads - 1,
            active: AtomicUsize::new(0),
            waiting,
            ready,
            idle: Mutex::default(),
            worker,
        };
        threads::scope(|scope| {
            let free = (0..jobs).map(|_| J::default()).collect();
            let tasks = &tasks;
            let round =
                Round { context, to_do, done, tasks, scope, free, early: VecDeque::new(), sent: 0, finished: 0 };
            let result = round.run(&mut fill, &mut work, &mut finish);
            // Drops queued jobs after an error.
            while tasks.waiting.try_recv().is_ok() {}
            result
        })
    }
}

/// A job and its number in the order of submission.
type Numbered<J> = (u64, J);

/// A processed job, or the panic of the task that processed it.
type Outcome<J> = Result<Numbered<J>, Box<dyn Any + Send>>;

/// Tasks that process jobs. A task ends when no job is queued, so an idle stream occupies no thread of the pool.
struct Workers<J, F, W> {
    most: usize,
    /// Number of unfinished tasks.
    active: AtomicUsize,
    waiting: Receiver<Numbered<J>>,
    ready: Sender<Outcome<J>>,
    /// Worker states not in use.
    idle: Mutex<Vec<W>>,
    worker: F,
}

impl<J: Send, W: FnMut(&mut J) + Send, F: Fn() -> W + Sync> Workers<J, F, W> {
    /// Spawns a task for a queued job, unless enough are active.
    fn spawn<'scope>(&'scope self, scope: &threads::Tasks<'scope>) {
        let add = |active: usize| (active < self.most).then_some(active + 1);
        if self.active.fetch_update(Ordering::AcqRel, Ordering::Acquire, add).is_ok() {
            scope.spawn(|| self.serve());
        }
    }

    fn serve(&self) {
        loop {
            let known = locked(&self.idle).pop();
            let mut work = known.unwrap_or_else(&self.worker);
            while let Ok((number, mut job)) = self.waiting.try_recv() {
                let outcome = panic::catch_unwind(AssertUnwindSafe(|| work(&mut job)));
                // The channel has capacity for all jobs, and the calling thread may have ended with an error.
                let _ = self.ready.send(outcome.map(|()| (number, job)));
            }
            locked(&self.idle).push(work);
            self.active.fetch_sub(1, Ordering::AcqRel);
            // A job queued before the decrement did not spawn a task.
            let add = |active: usize| (active < self.most).then_some(active + 1);
            if self.waiting.is_empty() || self.active.fetch_update(Ordering::AcqRel, Ordering::Acquire, add).is_err() {
                return;
            }
        }
    }
}

/// The state of the calling thread.
struct Round<'a, 'scope, J, F, W> {
    context: &'a Context<'a>,
    to_do: Sender<Numbered<J>>,
    done: Receiver<Outcome<J>>,
    tasks: &'scope Workers<J, F, W>,
    scope: &'a threads::Tasks<'scope>,
    free: Vec<J>,
    /// Jobs done out of order; the first entry is the next one to finish.
    early: VecDeque<Option<J>>,
    sent: u64,
    finished: u64,
}

impl<J: Send, W: FnMut(&mut J) + Send, F: Fn() -> W + Sync> Round<'_, '_, J, F, W> {
    fn run<E: From<StageError>>(
        mut self,
        fill: &mut impl FnMut(&mut J) -> Result<bool, E>,
        work: &mut impl FnMut(&mut J),
        finish: &mut impl FnMut(&mut J) -> Result<(), E>,
    ) -> Result<(), E> {
        let filled = loop {
            let mut job = loop {
                while let Ok(outcome) = self.done.try_recv() {
                    self.accept(outcome, finish)?;
                }
                match self.free.pop() {
                    Some(job) => break job,
                    None => self.wait(work, finish)?,
                }
            };
            match fill(&mut job) {
                Ok(true) => {
                    // The channel has capacity for all jobs, and the tasks hold a receiver.
                    let _ = self.to_do.send((self.sent, job));
                    self.sent += 1;
                    self.tasks.spawn(self.scope);
                }
                end => break end,
            }
        };
        // Finishes the jobs submitted before an error, so that their errors come first.
        while self.finished < self.sent {
            self.wait(work, finish)?;
        }
        filled.map(drop)
    }

    /// Takes a job that is done, and finishes all jobs that are due. The panic of a task goes on here.
    fn accept<E>(&mut self, outcome: Outcome<J>, finish: &mut impl FnMut(&mut J) -> Result<(), E>) -> Result<(), E> {
        let (number, job) = outcome.unwrap_or_else(|cause| panic::resume_unwind(cause));
        let place = (number - self.finished) as usize;
        if self.early.len() <= place {
            self.early.resize_with(place + 1, || None);
        }
        self.early[place] = Some(job);
        while let Some(mut job) = self.early.front_mut().and_then(Option::take) {
            self.early.pop_front();
            finish(&mut job)?;
            self.finished += 1;
            self.free.push(job);
        }
        Ok(())
    }

    /// Processes a queued job, or else waits for the next completed one.
    fn wait<E: From<StageError>>(
        &mut self,
        work: &mut impl FnMut(&mut J),
        finish: &mut impl FnMut(&mut J) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Ok((number, mut job)) = self.tasks.waiting.try_recv() {
            work(&mut job);
            return self.accept(Ok((number, job)), finish);
        }
        loop {
            match self.done.recv_timeout(PATIENCE) {
                Ok(outcome) => return self.accept(outcome, finish),
                Err(_) => self.context.check()?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Budget;
    use crate::stage::Silent;
    use std::sync::atomic::AtomicBool;

    #[derive(Default)]
    struct Square {
        of: u64,
        is: u64,
    }

    /// Returns the squares of the numbers below `count` in finishing order; can inject errors.
    fn squares(threads: usize, count: u64, fill_fails: u64, finish_fails: u64) -> (Vec<u64>, Result<(), StageError>) {
        let cancel = AtomicBool::new(false);
        let context = Context { budget: Budget::new(1 << 10), threads, progress: &Silent, cancel: &cancel };
        let pool = OrderedPool::plan(&context, "squares", 64, 16).unwrap();
        let (mut next, mut all) = (0, Vec::new());
        let result = pool.run(
            &context,
            |job: &mut Square| {
                if next == fill_fails {
                    return Err(StageError::Overflow("fill"));
                }
                job.of = next;
                next += 1;
                Ok(job.of < count)
            },
            || {
                |job: &mut Square| {
                    if job.of.is_multiple_of(7) {
                        std::thread::yield_now();
                    }
                    job.is = job.of * job.of;
                }
            },
            |job| {
                if job.of == finish_fails {
                    return Err(StageError::Overflow("finish"));
                }
                all.push(job.is);
                Ok(())
            },
        );
        (all, result)
    }

    #[test]
    fn jobs_are_finished_in_order() {
        for threads in [1, 2, 3, 7] {
            for count in [0, 1, 2, 1000] {
                let (all, result) = squares(threads, count, u64::MAX, u64::MAX);
                assert!(result.is_ok() && all == (0..count).map(|n| n * n).collect::<Vec<_>>(), "{threads} {count}");
            }
        }
    }

    #[test]
    fn the_first_error_in_order_wins() {
        for threads in [1, 2, 7] {
            for (fill, finish, expected) in [(50, 49, "finish"), (50, 50, "fill"), (50, 51, "fill")] {
                let (all, result) = squares(threads, 1000, fill, finish);
                assert!(
                    matches!(result, Err(StageError::Overflow(what)) if what == expected),
                    "{threads} {fill} {finish}"
                );
                assert_eq!(all.len() as u64, fill.min(finish));
            }
        }
    }

    #[test]
    #[should_panic(expected = "a worker's own")]
    fn a_panic_is_passed_on() {
        let cancel = AtomicBool::new(false);
        let context = Context { budget: Budget::new(1 << 10), threads: 4, progress: &Silent, cancel: &cancel };
        let pool = OrderedPool::plan(&context, "panic", 4, 1).unwrap();
        let mut left = 100;
        let _ = pool.run::<u8, StageError, _>(
            &context,
            |_| {
                left -= 1;
                Ok(left > 0)
            },
            || |_: &mut u8| panic!("a worker's own"),
            |_| Ok(()),
        );
    }

    #[test]
    fn a_small_budget_makes_a_small_pool() {
        let cancel = AtomicBool::new(false);
        let context = Context { budget: Budget::new(500), threads: 64, progress: &Silent, cancel: &cancel };
        assert_eq!(OrderedPool::plan(&context, "few", 16, 100).unwrap().threads, 2);
        assert_eq!(OrderedPool::plan(&context, "one", 16, 300).unwrap().threads, 1);
        assert!(OrderedPool::plan(&context, "none", 16, 501).is_err());
    }

    #[test]
    fn so_many_jobs_are_enough_for_so_many_threads() {
        for jobs in 0..100 {
            let threads = OrderedPool::threads(jobs);
            assert!(threads == 1 || OrderedPool::jobs(threads) <= jobs, "{jobs}");
            assert!(OrderedPool::jobs(threads + 1) > jobs, "{jobs}");
        }
    }
}
