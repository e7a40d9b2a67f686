//! Scheduler: jobs share a memory budget and the pool of threads. Its jobs are the steps of a run, and the inputs of a
//! batch.
//!
//! A ready job starts when a thread is free and its [memory grant](admission) fits. A job that does not fit waits; jobs
//! behind it may start. A job that ran out of its grant runs again, alone, with the whole budget.

use super::admission::{self, Wish};
use heaplake_kit::Budget;
use heaplake_kit::threads::Tasks;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Interval of [`Jobs::poll`].
const LOOK: Duration = Duration::from_millis(10);

/// A queue of jobs, each with a number.
pub trait Jobs<'scope> {
    /// Outcome of a job.
    type Outcome: Send + 'scope;

    /// Whether a job with the whole budget runs in the scheduler's own thread.
    const WHOLE_IS_INLINE: bool;

    /// Jobs that wait only for memory and threads, in order.
    fn ready(&mut self) -> Vec<usize>;

    /// Memory and threads that a job wants.
    fn wish(&self, job: usize) -> Wish;

    /// Called before `job` starts while nothing runs; `alone` if it gets the whole budget. False if no job can start.
    fn make_room(&mut self, _job: usize, _alone: bool) -> bool {
        true
    }

    /// Whether [`Self::make_room`] could free memory for a job that is alone.
    fn holds_memory(&self) -> bool {
        false
    }

    /// Returns the work of a job that starts.
    fn start(&mut self, job: usize, grant: Grant) -> Box<dyn FnOnce() -> Self::Outcome + Send + 'scope>;

    /// Whether a job failed because its grant was too small.
    fn lacks_memory(outcome: &Self::Outcome) -> bool;

    /// Undoes a job that runs again.
    fn take_back(&mut self, job: usize);

    /// Takes the outcome of a job.
    fn end(&mut self, job: usize, outcome: Self::Outcome);

    /// Called now and then while jobs run.
    fn poll(&mut self) {}
}

/// Memory and threads of a job.
pub struct Grant {
    /// Memory.
    pub budget: Budget,
    /// Threads.
    pub threads: usize,
    /// Whether the job runs in the scheduler's thread, which cannot poll meanwhile.
    pub is_inline: bool,
    is_whole: bool,
}

/// Runs jobs until none is ready, as tasks of the scope, or without one in the calling thread.
pub fn run<'scope, J: Jobs<'scope>>(jobs: &mut J, budget: &Budget, threads: usize, scope: Option<&Tasks<'scope>>) {
    let mut scheduler = Scheduler { budget, threads, scope, running: BTreeMap::new(), alone: BTreeSet::new() };
    let (ended, ends) = channel();
    loop {
        scheduler.start(jobs, &ended);
        if scheduler.running.is_empty() {
            return;
        }
        let (job, outcome) = next(jobs, &ends);
        let had_all = scheduler.running.remove(&job).is_none_or(|running| running.is_whole);
        if !had_all && J::lacks_memory(&outcome) {
            scheduler.alone.insert(job);
            jobs.take_back(job);
        } else {
            jobs.end(job, outcome);
        }
    }
}

fn next<'scope, J: Jobs<'scope>>(jobs: &mut J, ends: &Receiver<(usize, J::Outcome)>) -> (usize, J::Outcome) {
    loop {
        match ends.recv_timeout(LOOK) {
            Ok(ended) => return ended,
            Err(RecvTimeoutError::Timeout) => jobs.poll(),
            Err(RecvTimeoutError::Disconnected) => unreachable!("the scheduler itself holds a sender"),
        }
    }
}

struct Running {
    threads: usize,
    is_whole: bool,
    /// Held until the scheduler has seen the end, so that the next job does not take more than this one leaves.
    _budget: Budget,
}

struct Scheduler<'a, 'scope> {
    budget: &'a Budget,
    threads: usize,
    scope: Option<&'a Tasks<'scope>>,
    running: BTreeMap<usize, Running>,
    /// Jobs that ran out of their grant.
    alone: BTreeSet<usize>,
}

impl<'scope> Scheduler<'_, 'scope> {
    /// Starts every job that can start.
    fn start<J: Jobs<'scope>>(&mut self, jobs: &mut J, ended: &Sender<(usize, J::Outcome)>) {
        let ready = jobs.ready();
        if let Some(first) = ready.first()
            && self.running.is_empty()
            && !jobs.make_room(*first, self.alone.contains(first))
        {
            return;
        }
        for (nth, &job) in ready.iter().enumerate() {
            let idle = self.threads.saturating_sub(self.running.values().map(|running| running.threads).sum());
            let places = if self.scope.is_some() { idle } else { usize::from(self.running.is_empty()) };
            if places == 0 {
                return;
            }
            let others = ready[nth + 1..].iter().take(places - 1).map(|&other| jobs.wish(other).wanted);
            // Jobs that want everything take no share.
            let others: Vec<u64> = others.filter(|&wanted| wanted < u64::MAX).collect();
            let Some(grant) = self.grant(jobs, job, &others, idle) else { continue };
            let Grant { threads, is_whole, .. } = grant;
            self.running.insert(job, Running { threads, is_whole, _budget: grant.budget.clone() });
            let (scope, ended) = (self.scope.filter(|_| !grant.is_inline), ended.clone());
            let work = jobs.start(job, grant);
            // The scheduler waits for every job that it started.
            let work = move || drop(ended.send((job, work())));
            match scope {
                Some(scope) => scope.spawn(work),
                None => work(),
            }
        }
    }

    /// Grant with which a job can start now, given the wishes of other ready jobs.
    fn grant<J: Jobs<'scope>>(&self, jobs: &J, job: usize, others: &[u64], idle: usize) -> Option<Grant> {
        let (wish, budget, nothing_runs) = (jobs.wish(job), self.budget, self.running.is_empty());
        let is_alone = self.alone.contains(&job);
        let bytes = match is_alone {
            true => nothing_runs.then(|| budget.free())?,
            false => admission::grant(&wish, budget, nothing_runs, others)?,
        };
        let is_whole = is_alone || (nothing_runs && bytes == budget.free() && !jobs.holds_memory());
        // A job that runs alone leaves nothing to others.
        let mut rest = budget.free().saturating_sub(if is_alone { bytes } else { wish.wanted });
        let beside = others.iter().take_while(|&&wanted| {
            let fits = wanted <= rest;
            rest = rest.saturating_sub(wanted);
            fits
        });
        let threads = (idle / (beside.count() + 1)).clamp(1, wish.most_threads);
        let is_inline = self.scope.is_none() || (is_whole && J::WHOLE_IS_INLINE);
        // Free memory cannot shrink meanwhile: only this thread makes grants.
        let budget = budget.part(wish.who, bytes).ok()?;
        Some(Grant { budget, threads, is_inline, is_whole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::threads;

    const WHOLE: u64 = 1000;

    /// Jobs that want this memory; one runs out of any part of the whole. Records memory and threads of each.
    struct Equal {
        wanted: u64,
        hungry: usize,
        waiting: BTreeSet<usize>,
        granted: Vec<(usize, u64, usize)>,
    }

    impl<'scope> Jobs<'scope> for Equal {
        type Outcome = bool;

        const WHOLE_IS_INLINE: bool = true;

        fn ready(&mut self) -> Vec<usize> {
            self.waiting.iter().copied().collect()
        }

        fn wish(&self, _job: usize) -> Wish {
            Wish { who: "it", wanted: self.wanted, least: 0, shares: false, most_threads: usize::MAX }
        }

        fn start(&mut self, job: usize, grant: Grant) -> Box<dyn FnOnce() -> bool + Send + 'scope> {
            self.waiting.remove(&job);
            self.granted.push((job, grant.budget.limit(), grant.threads));
            let fails = job == self.hungry && grant.budget.limit() < WHOLE;
            Box::new(move || {
                let _held = grant;
                fails
            })
        }

        fn lacks_memory(outcome: &bool) -> bool {
            *outcome
        }

        fn take_back(&mut self, job: usize) {
            self.waiting.insert(job);
        }

        fn end(&mut self, _job: usize, outcome: bool) {
            assert!(!outcome);
        }
    }

    fn granted(wanted: u64, jobs: usize, hungry: usize, concurrent: bool) -> Vec<(usize, u64, usize)> {
        let mut equal = Equal { wanted, hungry, waiting: (0..jobs).collect(), granted: Vec::new() };
        let budget = Budget::new(WHOLE);
        match concurrent {
            true => threads::scope(|scope| run(&mut equal, &budget, 16, Some(scope))),
            false => run(&mut equal, &budget, 16, None),
        }
        assert!(equal.waiting.is_empty() && budget.used() == 0);
        equal.granted
    }

    #[test]
    fn ready_jobs_divide_memory_and_threads() {
        threads::start().unwrap();
        assert_eq!(granted(100, 2, 9, true)[..2], [(0, 500, 8), (1, 500, 8)]);
        assert_eq!(granted(100, 3, 9, true)[..2], [(0, 333, 5), (1, 333, 5)]);
        assert_eq!(granted(400, 9, 9, true)[0], (0, 400, 8), "two fit");
        assert_eq!(granted(100, 2, 9, false), [(0, WHOLE, 16), (1, WHOLE, 16)], "one after the other");
        assert_eq!(granted(u64::MAX, 2, 9, true), [(0, WHOLE, 16), (1, WHOLE, 16)]);
    }

    #[test]
    fn a_job_that_ran_out_of_its_grant_runs_again_alone() {
        threads::start().unwrap();
        let granted = granted(100, 4, 1, true);
        assert_eq!(granted.len(), 5);
        assert!(granted.contains(&(1, 250, 4)) && granted.contains(&(1, WHOLE, 16)));
        // Others that wait meanwhile take no threads from it.
        let granted = self::granted(100, 40, 1, true);
        assert_eq!(granted.len(), 41);
        assert!(granted.contains(&(1, WHOLE, 16)), "{granted:?}");
    }
}
