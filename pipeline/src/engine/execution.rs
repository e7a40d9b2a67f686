//! A ready queue: a step starts when its dependencies are done, a thread is free, and its memory fits.

use super::admission;
use super::columns::Columns;
use super::graph::{File, Graph, Step};
use super::journal::{Done, Journal};
use super::liveness::Liveness;
use super::measure::Measured;
use super::registry::{self, Product};
use crate::print::progress::{Display, Took};
use heaplake_kit::panics::{self, Panic};
use heaplake_kit::stage::{Handover, Job, Output, Silent};
use heaplake_kit::threads::Tasks;
use heaplake_kit::{Budget, Context, Scratch, Setting, StageError, Stats, divisible, threads};
use heaplake_schemas::scratch::documents;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Interval between checks for cancellation.
const LOOK: Duration = Duration::from_millis(10);

/// State shared by all steps of a run.
pub struct Work<'a> {
    /// Columns of the run.
    pub scratch: &'a Scratch,
    /// The whole budget.
    pub budget: Budget,
    /// Part of the budget that columns hold.
    pub columns: Columns,
    /// Threads, at least 1.
    pub threads: usize,
    /// Whether steps run in the queue's own thread, which cannot poll for cancellation meanwhile: for one thread and a
    /// tiny input.
    pub is_short: bool,
    /// Setting of the run.
    pub setting: Setting<'a>,
    /// The opened input, for the reader.
    pub input: Handover,
    /// Checks that the budget suffices for this number of nodes.
    pub admit: &'a (dyn Fn(u64) -> Result<(), StageError> + Sync),
    /// Destination of tables.
    pub output: Output,
    /// Progress display.
    pub display: &'a Display,
    /// Set from outside to stop the run.
    pub cancel: &'a AtomicBool,
}

impl Work<'_> {
    fn has(&self, file: &File) -> bool {
        self.scratch.exists(&self.scratch.file(&file.name))
    }
}

/// A step that ran.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Position in the graph.
    pub position: usize,
    /// Cost and output.
    pub done: Done,
}

/// Runs the unfinished steps at the wanted positions and records them in the journal. Returns them in graph order.
///
/// `size` returns the numbers of nodes and edges known by then. If several steps fail, the error is that of the first
/// in graph order.
pub fn execute(
    graph: &Graph,
    asked: impl Fn(usize) -> bool,
    size: impl Fn() -> (u64, u64),
    work: &Work<'_>,
    journal: &mut Journal,
) -> Result<Vec<Ran>, StageError> {
    let stop = &AtomicBool::new(false);
    let queue = Queue::new(graph, asked, work, journal);
    // A task of the pool that waited for other ones could hold up the thread that they need.
    if work.is_short || threads::is_inside() {
        return schedule(queue, size, stop, None, journal);
    }
    threads::start().map_err(|source| StageError::Thread { source })?;
    threads::scope(|scope| schedule(queue, size, stop, Some(scope), journal))
}

/// Runs the steps of the queue as tasks of the scope, or without one in the calling thread.
fn schedule<'scope, 'a: 'scope>(
    mut queue: Queue<'a>,
    size: impl Fn() -> (u64, u64),
    stop: &'scope AtomicBool,
    scope: Option<&Tasks<'scope>>,
    journal: &mut Journal,
) -> Result<Vec<Ran>, StageError> {
    let (finished, done) = channel();
    let mut known = size();
    loop {
        queue.start(scope, stop, &finished, known, journal);
        if queue.running.is_empty() {
            return queue.result();
        }
        let Finished { step, outcome, took } = next(&done, queue.work, stop);
        match outcome {
            Ok(outcome) => {
                if let Err(error) = queue.finish(step, outcome, took, journal) {
                    stop.store(true, Ordering::Relaxed);
                    queue.fail(step, error);
                }
                if queue.graph.steps[step].modifies(documents::METADATA) {
                    known = size();
                }
            }
            Err(panic) => {
                stop.store(true, Ordering::Relaxed);
                panic.resume();
            }
        }
    }
}

/// A step that ended, with a result or a panic.
struct Finished {
    step: usize,
    outcome: Result<Result<Stats, StageError>, Panic>,
    took: Took,
}

/// Waits for the next step to finish, and forwards cancellation to the steps.
fn next(done: &Receiver<Finished>, work: &Work<'_>, stop: &AtomicBool) -> Finished {
    loop {
        match done.recv_timeout(LOOK) {
            Ok(finished) => return finished,
            Err(RecvTimeoutError::Timeout) => {
                if work.cancel.load(Ordering::Relaxed) {
                    stop.store(true, Ordering::Relaxed);
                    work.budget.stop();
                }
            }
            Err(RecvTimeoutError::Disconnected) => unreachable!("the queue itself holds a sender"),
        }
    }
}

/// A step in progress.
#[derive(Clone, Copy)]
struct Running {
    /// Whether its progress is displayed.
    foreground: bool,
    /// Whether it got all free memory because nothing else ran.
    all_memory: bool,
}

/// State of all steps: waiting, running, done or failed.
struct Queue<'a> {
    graph: &'a Graph,
    work: &'a Work<'a>,
    /// Steps not started yet, in order.
    waiting: BTreeSet<usize>,
    /// Waiting steps that ran out of their grant: they get the whole budget.
    alone: BTreeSet<usize>,
    running: BTreeMap<usize, Running>,
    done: BTreeSet<usize>,
    /// Files of skipped steps.
    absent: BTreeSet<String>,
    liveness: Liveness,
    failed: Option<(usize, StageError)>,
    ran: Vec<Ran>,
}

impl<'a> Queue<'a> {
    fn new(graph: &'a Graph, asked: impl Fn(usize) -> bool, work: &'a Work<'a>, journal: &Journal) -> Self {
        let mut queue = Self {
            graph,
            work,
            waiting: BTreeSet::new(),
            alone: BTreeSet::new(),
            running: BTreeMap::new(),
            done: BTreeSet::new(),
            absent: BTreeSet::new(),
            liveness: Liveness::new(graph, journal.is_kept()),
            failed: None,
            ran: Vec::new(),
        };
        for (position, step) in graph.steps.iter().enumerate() {
            if !step.product.is_part_of_run() && journal.has(&step.name) {
                queue.settle(position);
            } else if asked(position) {
                queue.waiting.insert(position);
            }
        }
        queue
    }

    /// Starts every step that can start.
    fn start<'scope>(
        &mut self,
        scope: Option<&Tasks<'scope>>,
        stop: &'scope AtomicBool,
        finished: &Sender<Finished>,
        size: (u64, u64),
        journal: &Journal,
    ) where
        'a: 'scope,
    {
        if self.failed.is_some() || stop.load(Ordering::Relaxed) || self.work.cancel.load(Ordering::Relaxed) {
            return;
        }
        let ready = self.ready();
        if let Err(error) = self.make_room(&ready, size) {
            return self.fail(ready[0], error);
        }
        // Continues past steps that wait for memory, so that smaller ones can run.
        for (nth, &step) in ready.iter().enumerate() {
            // Without a scope a step ends before the next one starts.
            let threads = scope.map_or(1, |_| self.work.threads);
            let free_threads = threads.saturating_sub(self.running.len());
            if free_threads == 0 {
                break;
            }
            let others = ready[nth + 1..].iter().take(free_threads - 1);
            let others: Vec<u64> =
                others.map(|&other| admission::wanted(self.graph.steps[other].stage, size)).collect();
            let Some(bytes) = self.grant(step, &others, size) else { continue };
            // The reader cannot run again here because its input is consumed; the caller reopens it.
            let is_all = step == 0 || !self.work.columns.is_shared();
            let all_memory = self.running.is_empty() && bytes == self.work.budget.free() && is_all;
            // Free memory cannot shrink meanwhile: only this thread makes grants.
            let Ok(budget) = self.work.budget.part(self.graph.steps[step].stage.name, bytes) else { continue };
            let foreground = !self.running.values().any(|running| running.foreground);
            let lengths = journal.lengths(self.work.scratch, &self.graph.steps[step]);
            self.spawn(step, (budget, lengths), foreground, scope, stop, finished.clone());
            self.waiting.remove(&step);
            self.running.insert(step, Running { foreground, all_memory });
        }
    }

    /// Divides the budget between steps and columns while nothing runs. A step that must run alone gets all of it.
    fn make_room(&self, ready: &[usize], size: (u64, u64)) -> Result<(), StageError> {
        let Work { columns, budget, .. } = self.work;
        match ready.first() {
            Some(first) if self.running.is_empty() => match self.alone.contains(first) {
                true => columns.give_up(budget),
                false => columns.fit(self.graph, budget, size),
            },
            _ => Ok(()),
        }
    }

    /// Returns the steps that wait only for memory and a thread. Skips steps without input.
    fn ready(&mut self) -> Vec<usize> {
        loop {
            let is_ready = |step: &usize| self.graph.steps[*step].after.is_subset(&self.done);
            let ready: Vec<usize> = self.waiting.iter().copied().filter(is_ready).collect();
            let Some(&starved) = ready.iter().find(|step| self.lacks_input(**step)) else { return ready };
            self.leave_out(starved);
        }
    }

    /// Memory grant with which a step can start now, given the wishes of the other ready steps.
    fn grant(&self, step: usize, others: &[u64], size: (u64, u64)) -> Option<u64> {
        let (budget, nothing_runs) = (&self.work.budget, self.running.is_empty());
        if self.alone.contains(&step) {
            return nothing_runs.then(|| budget.free());
        }
        admission::grant(self.graph.steps[step].stage, budget, nothing_runs, others, size)
    }

    fn spawn<'scope>(
        &self,
        step: usize,
        (budget, lengths): (Budget, Vec<(String, u64)>),
        foreground: bool,
        scope: Option<&Tasks<'scope>>,
        stop: &'scope AtomicBool,
        finished: Sender<Finished>,
    ) where
        'a: 'scope,
    {
        let (graph, work) = (self.graph, self.work);
        let is_inline = scope.is_none();
        let work_on = move || {
            let measured = Measured::new(if foreground { work.display } else { &Silent });
            // Nobody forwards a cancellation to a step in the queue's thread.
            let cancel = if is_inline { work.cancel } else { stop };
            let context = Context { budget, threads: work.threads, progress: &measured, cancel };
            let (begun, _) = (Instant::now(), divisible::take());
            let whole = || whole(work.scratch, &lengths);
            let outcome = match whole() {
                Ok(()) => panics::held(|| run(&graph.steps[step], work, &context, &lengths)),
                Err(cut_off) => Ok(Err(cut_off)),
            };
            let outcome = outcome.or_else(|panic| damage(work.scratch, &lengths).map_or(Err(panic), |it| Ok(Err(it))));
            drop(context);
            // A truncated file is the cause, whatever the outcome of the step.
            let outcome = whole().map_or_else(|cut_off| Ok(Err(cut_off)), |()| outcome);
            let outcome = outcome.map(|outcome| measured.outcome(outcome));
            // The queue waits for every step it started.
            let took = Took { seconds: begun.elapsed().as_secs_f64(), divisible_seconds: divisible::take() };
            let _ = finished.send(Finished { step, outcome, took });
        };
        match scope {
            Some(scope) => scope.spawn(work_on),
            None => work_on(),
        }
    }

    /// Whether a required file does not exist for this input: its writer omitted it, or was itself skipped.
    fn lacks_input(&self, step: usize) -> bool {
        let step = &self.graph.steps[step];
        let mut needed = step.reads.iter().chain(&step.changes).filter(|file| !file.optional);
        let may_lack = |file: &File| self.absent.contains(&file.name) || self.graph.may_lack(&file.name);
        needed.any(|file| may_lack(file) && !self.work.has(file))
    }

    fn leave_out(&mut self, step: usize) {
        self.waiting.remove(&step);
        self.absent.extend(self.graph.steps[step].writes.iter().map(|file| file.name.clone()));
        self.settle(step);
    }

    /// Records a step as done, now or by an earlier run, and discards files without further users.
    fn settle(&mut self, step: usize) {
        self.done.insert(step);
        for name in self.liveness.finish(&self.graph.steps[step]) {
            self.work.scratch.discard_file(&name);
        }
    }

    /// Records the end of a step; returns an error if the run cannot go on.
    fn finish(
        &mut self,
        position: usize,
        outcome: Result<Stats, StageError>,
        took: Took,
        journal: &mut Journal,
    ) -> Result<(), StageError> {
        let step = &self.graph.steps[position];
        let Work { scratch, display, setting, .. } = self.work;
        let running = self.running.remove(&position);
        let stats = match outcome {
            Err(StageError::Budget { .. }) if running.is_some_and(|running| !running.all_memory) => {
                // The step needs more memory than it can declare. It runs again, alone, as after a kill.
                journal.take_back(scratch, step)?;
                self.waiting.insert(position);
                self.alone.insert(position);
                return Ok(());
            }
            outcome => outcome?,
        };
        let Stats { rows, spilled_bytes } = stats;
        let done = Done { stage: step.name.clone(), seconds: took.seconds, rows, spilled_bytes };
        // Between two removals scratch only grows.
        if self.liveness.is_last_user(step) || !step.stage.rewrites.is_empty() {
            scratch.measure();
        }
        if !step.product.is_part_of_run() {
            journal.add(scratch, step, done.clone())?;
        }
        // Last, because a reader of the line may kill the run and count on the stage.
        display.finished(&step.name, stats, self.bytes_of(step), took);
        for access in step.stage.rewrites {
            access.files(setting).try_for_each(|file| scratch.forget_aside(file.name))?;
        }
        self.settle(position);
        self.ran.push(Ran { position, done });
        Ok(())
    }

    /// Bytes of the step's output.
    fn bytes_of(&self, step: &Step) -> u64 {
        let table = match step.product {
            Product::Table(file) => Some(self.work.output.folder.join(file)),
            _ => None,
        };
        let columns = step.writes.iter().map(|file| self.work.scratch.file(&file.name));
        columns.chain(table).filter_map(|path| self.work.scratch.length(&path)).sum()
    }

    /// Keeps the error of the first step in order. A cancelled step is never the cause.
    fn fail(&mut self, step: usize, error: StageError) {
        let rank = |step: usize, error: &StageError| (matches!(error, StageError::Cancelled), step);
        if self.failed.as_ref().is_none_or(|(other, before)| rank(step, &error) < rank(*other, before)) {
            self.failed = Some((step, error));
        }
    }

    fn result(&mut self) -> Result<Vec<Ran>, StageError> {
        match self.failed.take() {
            Some((_, error)) => Err(error),
            None if self.waiting.is_empty() => {
                let mut ran = std::mem::take(&mut self.ran);
                ran.sort_by_key(|ran| ran.position);
                Ok(ran)
            }
            None => Err(StageError::Cancelled),
        }
    }
}

/// Refuses scratch files with a length other than their writer left.
fn whole(scratch: &Scratch, lengths: &[(String, u64)]) -> Result<(), StageError> {
    for (name, length) in lengths {
        let path = scratch.file(name);
        // Most columns are in memory, so this rarely asks the system.
        if let Some(there) = scratch.length(&path).filter(|there| there != length) {
            return Err(StageError::cut_off(&path, *length, there));
        }
    }
    Ok(())
}

/// Finds a scratch file with a wrong checksum, after a stage panicked.
fn damage(scratch: &Scratch, lengths: &[(String, u64)]) -> Option<StageError> {
    let never = AtomicBool::new(false);
    let paths = lengths.iter().map(|(name, _)| scratch.file(name)).filter(|path| path.exists());
    let mut known = paths.filter_map(|path| Some((scratch.sum(&path)?, path)));
    let (_, path) = known.find(|(sum, path)| sum.is_of(path, &never).is_ok_and(|is| !is))?;
    Some(StageError::Scratch { path, problem: "it does not hold what was written to it".to_owned() })
}

/// Runs one step on its view of scratch.
fn run(step: &Step, work: &Work<'_>, context: &Context<'_>, lengths: &[(String, u64)]) -> Result<Stats, StageError> {
    let folder = match step.folder {
        Some(folder) => work.scratch.within(folder)?,
        None => work.scratch.clone(),
    };
    let lengths = lengths.iter().map(|(name, length)| (work.scratch.file(name).into(), *length)).collect();
    let scratch = folder.view(&step.name, registry::foreign(step.stage)).expecting(lengths);
    for access in step.stage.rewrites {
        access.files(&work.setting).try_for_each(|file| folder.set_aside(file.name))?;
    }
    let Work { setting, input, admit, output, .. } = work;
    let job = Job { scratch: &scratch, context, setting: *setting, input, admit: *admit, output };
    let stats = (step.stage.run)(&job)?;
    scratch.undamaged()?;
    match step.writes.iter().find(|file| !file.optional && !work.has(file)) {
        None => Ok(stats),
        Some(file) => {
            let problem = format!("stage {} declares that it writes this and did not", step.name);
            Err(StageError::Scratch { path: work.scratch.file(&file.name), problem })
        }
    }
}
