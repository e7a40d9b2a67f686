//! A ready queue: a step starts when what it waits for is done, when a thread is free, and when its memory fits.

use super::admission;
use super::graph::{File, Graph};
use super::journal::Journal;
use super::liveness::Liveness;
use crate::print::progress::Display;
use heaplake_kit::Setting;
use heaplake_kit::stage::{Handover, Job, Output, Silent};
use heaplake_kit::{Budget, Context, Progress, Scratch, StageError, Stats};
use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

/// How often cancellation is checked while steps run.
const LOOK: Duration = Duration::from_millis(10);

/// What all steps of a run share.
pub struct Work<'a> {
    /// The columns.
    pub scratch: &'a Scratch,
    /// The whole budget.
    pub budget: Budget,
    /// Threads, at least 1.
    pub threads: usize,
    /// What kind of run it is.
    pub setting: Setting<'a>,
    /// The opened input, for the reader.
    pub input: Handover,
    /// Whether the budget suffices for so many nodes.
    pub admit: &'a (dyn Fn(u64) -> Result<(), StageError> + Sync),
    /// Where tables go.
    pub output: Output,
    /// Shows what goes on.
    pub display: &'a Display,
    /// Set from outside when the run must stop.
    pub cancel: &'a AtomicBool,
}

/// What a step took, and what it did.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Its place in the graph.
    pub position: usize,
    /// Name of the step.
    pub name: String,
    /// File of the table that it wrote, if it did.
    pub table: Option<&'static str>,
    /// Wall time.
    pub seconds: f64,
    /// What it did.
    pub stats: Stats,
}

/// Runs those steps of a graph that are not done, of the positions that are asked for, and notes them in the journal.
/// What they took comes back in the order of the graph.
///
/// `size` says how many nodes and edges there are, as far as that is known by then.
///
/// # Errors
/// That of the first step, in the order of the graph, that failed.
pub fn execute(
    graph: &Graph,
    asked: impl Fn(usize) -> bool,
    size: impl Fn() -> (u64, u64),
    work: &Work<'_>,
    journal: &mut Journal,
) -> Result<Vec<Taken>, StageError> {
    let stop = AtomicBool::new(false);
    let (finished, done) = channel();
    let mut queue = Queue::new(graph, asked, work, journal);
    thread::scope(|scope| {
        loop {
            queue.start(scope, &stop, &finished, size());
            if queue.running.is_empty() {
                return queue.result();
            }
            let Finished { step, foreground, outcome, seconds } = next(&done, work.cancel, &stop);
            match outcome {
                Ok(stats) => queue.finish(step, foreground, stats, seconds, journal, &stop),
                Err(Stopped::Failed(StageError::Budget { limit, .. })) if limit < work.budget.limit() => {
                    queue.try_alone(step, foreground);
                }
                Err(Stopped::Failed(error)) => queue.fail(step, foreground, error, &stop),
                Err(Stopped::Panicked(panic)) => {
                    stop.store(true, Ordering::Relaxed);
                    resume_unwind(panic);
                }
            }
        }
    })
}

/// A step that ran.
struct Finished {
    step: usize,
    foreground: bool,
    outcome: Result<Stats, Stopped>,
    seconds: f64,
}

enum Stopped {
    Failed(StageError),
    Panicked(Box<dyn Any + Send>),
}

/// Waits for the next step to finish, and passes cancellation on to the steps.
fn next(done: &Receiver<Finished>, cancel: &AtomicBool, stop: &AtomicBool) -> Finished {
    loop {
        match done.recv_timeout(LOOK) {
            Ok(finished) => return finished,
            Err(RecvTimeoutError::Timeout) => {
                if cancel.load(Ordering::Relaxed) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            Err(RecvTimeoutError::Disconnected) => unreachable!("the queue itself holds a sender"),
        }
    }
}

/// Which steps are done, run, or failed.
struct Queue<'a> {
    graph: &'a Graph,
    work: &'a Work<'a>,
    /// Steps that are not started yet, in order.
    waiting: BTreeSet<usize>,
    /// Those of them whose share of the budget did not suffice: they get all of it.
    alone: BTreeSet<usize>,
    running: BTreeSet<usize>,
    done: BTreeSet<usize>,
    foreground: bool,
    /// Files of steps that were left out.
    absent: BTreeSet<String>,
    liveness: Liveness,
    failed: Option<(usize, StageError)>,
    taken: Vec<Taken>,
}

impl<'a> Queue<'a> {
    fn new(graph: &'a Graph, asked: impl Fn(usize) -> bool, work: &'a Work<'a>, journal: &Journal) -> Self {
        let mut queue = Self {
            graph,
            work,
            waiting: BTreeSet::new(),
            alone: BTreeSet::new(),
            running: BTreeSet::new(),
            done: BTreeSet::new(),
            foreground: false,
            absent: BTreeSet::new(),
            liveness: Liveness::new(graph),
            failed: None,
            taken: Vec::new(),
        };
        for (position, step) in graph.steps.iter().enumerate() {
            if !step.is_output && journal.has(&step.name) {
                queue.settle(position);
            } else if asked(position) {
                queue.waiting.insert(position);
            }
        }
        queue
    }

    /// Starts what can be started.
    fn start<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        stop: &'scope AtomicBool,
        finished: &Sender<Finished>,
        (nodes, edges): (u64, u64),
    ) where
        'a: 'scope,
    {
        if self.failed.is_some() || stop.load(Ordering::Relaxed) || self.work.cancel.load(Ordering::Relaxed) {
            return;
        }
        let is_ready = |step: &usize| self.graph.steps[*step].after.is_subset(&self.done);
        let ready: Vec<usize> = self.waiting.iter().copied().filter(is_ready).collect();
        let mut left = ready.len().min(self.work.threads.saturating_sub(self.running.len()));
        for step in ready {
            if self.running.len() >= self.work.threads {
                return;
            }
            if self.lacks_input(step) {
                self.leave_out(step);
                return self.start(scope, stop, finished, (nodes, edges));
            }
            let stage = self.graph.steps[step].stage;
            let nothing_runs = self.running.is_empty();
            let granted = if self.alone.contains(&step) {
                nothing_runs.then(|| self.work.budget.free())
            } else {
                admission::grant(stage, &self.work.budget, nothing_runs, left as u64, (nodes, edges))
            };
            let Some(bytes) = granted else { continue };
            // Free memory cannot shrink meanwhile: only this thread reserves shares.
            let Ok(budget) = self.work.budget.part(stage.name, bytes) else { continue };
            self.waiting.remove(&step);
            self.running.insert(step);
            left = left.saturating_sub(1);
            let foreground = !std::mem::replace(&mut self.foreground, true);
            self.spawn(step, budget, foreground, scope, stop, finished.clone());
        }
    }

    fn spawn<'scope>(
        &self,
        step: usize,
        budget: Budget,
        foreground: bool,
        scope: &'scope Scope<'scope, '_>,
        stop: &'scope AtomicBool,
        finished: Sender<Finished>,
    ) where
        'a: 'scope,
    {
        let (graph, work) = (self.graph, self.work);
        scope.spawn(move || {
            let progress: &dyn Progress = if foreground { work.display } else { &Silent };
            let context = Context { budget, threads: work.threads, progress, cancel: stop };
            let begun = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| run(graph, step, work, &context)));
            let outcome = match outcome {
                Ok(outcome) => outcome.map_err(Stopped::Failed),
                Err(panic) => Err(Stopped::Panicked(panic)),
            };
            drop(context);
            // The queue waits for every step that it started.
            let _ = finished.send(Finished { step, foreground, outcome, seconds: begun.elapsed().as_secs_f64() });
        });
    }

    /// Whether a file that a step needs does not exist for this input: its writer left it out, or was left out
    /// itself.
    fn lacks_input(&self, step: usize) -> bool {
        let step = &self.graph.steps[step];
        let mut needed = step.reads.iter().chain(&step.changes).filter(|file| !file.optional);
        let may_lack = |file: &File| self.absent.contains(&file.name) || self.graph.may_lack(&file.name);
        needed.any(|file| may_lack(file) && !self.work.scratch.file(&file.name).exists())
    }

    /// Leaves a step out.
    fn leave_out(&mut self, step: usize) {
        self.waiting.remove(&step);
        self.absent.extend(self.graph.steps[step].writes.iter().map(|file| file.name.clone()));
        self.settle(step);
    }

    /// Notes that a step is done, now or by an earlier run.
    fn settle(&mut self, step: usize) {
        self.done.insert(step);
        for name in self.liveness.finish(&self.graph.steps[step]) {
            self.work.scratch.discard_file(&name);
        }
    }

    fn finish(
        &mut self,
        position: usize,
        foreground: bool,
        stats: Stats,
        seconds: f64,
        journal: &mut Journal,
        stop: &AtomicBool,
    ) {
        let step = &self.graph.steps[position];
        let Work { scratch, display, .. } = self.work;
        if !step.is_output
            && let Err(error) = journal.add(scratch, step, stats, seconds)
        {
            return self.fail(position, foreground, error, stop);
        }
        // Only now: who sees the line may kill the run and count on the stage.
        display.finished(&step.name, stats, seconds);
        for access in step.stage.rewrites {
            access.all_files().for_each(|file| scratch.forget_aside(file.name));
        }
        self.end(position, foreground);
        self.settle(position);
        self.taken.push(Taken { position, name: step.name.clone(), table: step.table, seconds, stats });
    }

    fn fail(&mut self, step: usize, foreground: bool, error: StageError, stop: &AtomicBool) {
        stop.store(true, Ordering::Relaxed);
        self.end(step, foreground);
        // Steps that were cancelled do not tell the cause.
        let told = |error: &StageError| matches!(error, StageError::Cancelled);
        let replaces = match &self.failed {
            None => true,
            Some((other, before)) => (told(before), *other) > (told(&error), step),
        };
        if replaces {
            self.failed = Some((step, error));
        }
    }

    /// Runs a step again, alone, as after a kill: its memory depends on more than it could declare.
    fn try_alone(&mut self, step: usize, foreground: bool) {
        self.end(step, foreground);
        self.waiting.insert(step);
        self.alone.insert(step);
    }

    fn end(&mut self, step: usize, foreground: bool) {
        self.running.remove(&step);
        self.foreground &= !foreground;
    }

    fn result(&mut self) -> Result<Vec<Taken>, StageError> {
        match self.failed.take() {
            Some((_, error)) => Err(error),
            None if self.waiting.is_empty() => {
                let mut taken = std::mem::take(&mut self.taken);
                taken.sort_by_key(|taken| taken.position);
                Ok(taken)
            }
            None => Err(StageError::Cancelled),
        }
    }
}

/// Runs one step on its view of scratch.
fn run(graph: &Graph, step: usize, work: &Work<'_>, context: &Context<'_>) -> Result<Stats, StageError> {
    let step = &graph.steps[step];
    let folder = match step.folder {
        Some(folder) => work.scratch.within(folder)?,
        None => work.scratch.clone(),
    };
    let scratch = folder.view(&step.name, super::registry::foreign(step.stage));
    for access in step.stage.rewrites {
        access.all_files().try_for_each(|file| folder.set_aside(file.name))?;
    }
    let Work { setting, input, admit, output, .. } = work;
    let job = Job { scratch: &scratch, context, setting: *setting, input, admit: *admit, output };
    let stats = (step.stage.run)(&job)?;
    match step.writes.iter().find(|file| !file.optional && !work.scratch.file(&file.name).exists()) {
        None => Ok(stats),
        Some(file) => {
            let problem = format!("stage {} declares that it writes this and did not", step.name);
            Err(StageError::Scratch { path: work.scratch.file(&file.name), problem })
        }
    }
}
