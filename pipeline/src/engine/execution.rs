//! Runs the steps of a run: a step is ready when its dependencies are done.

use super::admission::Wish;
use super::columns::Columns;
use super::graph::{File, Graph, Step};
use super::journal::{Done, Journal};
use super::liveness::Liveness;
use super::measure::Measured;
use super::registry::{self, Product};
use super::scheduler::{self, Grant, Jobs};
use crate::progress::{Display, Took};
use heaplake_kit::panics::{self, Panic};
use heaplake_kit::stage::{Handover, Job, Output, Silent};
use heaplake_kit::{Budget, Context, Progress, Scratch, Setting, StageError, Stats, divisible, threads};
use heaplake_schemas::scratch::documents;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

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
    /// Whether steps run in the scheduler's thread, which cannot poll for cancellation meanwhile: for one thread and a
    /// tiny input.
    pub is_short: bool,
    /// Setting of the run.
    pub setting: Setting<'a>,
    /// The opened input, for the reader.
    pub input: Handover,
    /// Opens it again, for a reader that runs again.
    pub reopen: &'a (dyn Fn() -> Result<Handover, StageError> + Sync),
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
    let stop = AtomicBool::new(false);
    let mut steps = Steps::new(graph, asked, (&size, &stop), work, journal);
    // A task of the pool that waited for other ones could hold up the thread that they need.
    if work.is_short || threads::is_inside() {
        scheduler::run(&mut steps, &work.budget, work.threads, None);
    } else {
        threads::start().map_err(|source| StageError::Thread { source })?;
        threads::scope(|scope| scheduler::run(&mut steps, &work.budget, work.threads, Some(scope)));
    }
    steps.result()
}

/// The steps of a run: waiting, running, done or failed.
struct Steps<'a, 'j> {
    graph: &'a Graph,
    work: &'a Work<'a>,
    journal: &'j mut Journal,
    size: &'j dyn Fn() -> (u64, u64),
    /// Nodes and edges known by now.
    known: (u64, u64),
    /// Stops the running steps.
    stop: &'a AtomicBool,
    /// Steps not started yet, in order.
    waiting: BTreeSet<usize>,
    /// The running step with the progress display.
    shown: Option<usize>,
    done: BTreeSet<usize>,
    /// Files of skipped steps.
    absent: BTreeSet<String>,
    liveness: Liveness,
    failed: Option<(usize, StageError)>,
    ran: Vec<Ran>,
}

impl<'a> Jobs<'a> for Steps<'a, '_> {
    /// Outcome or panic, and time.
    type Outcome = (Result<Result<Stats, StageError>, Panic>, Took);

    const WHOLE_IS_INLINE: bool = false;

    fn ready(&mut self) -> Vec<usize> {
        if self.failed.is_some() || self.stop.load(Ordering::Relaxed) || self.work.cancel.load(Ordering::Relaxed) {
            return Vec::new();
        }
        loop {
            let is_ready = |step: &usize| self.graph.steps[*step].after.is_subset(&self.done);
            let ready: Vec<usize> = self.waiting.iter().copied().filter(is_ready).collect();
            let Some(&starved) = ready.iter().find(|step| self.lacks_input(**step)) else { return ready };
            self.leave_out(starved);
        }
    }

    fn wish(&self, step: usize) -> Wish {
        Wish::of(self.graph.steps[step].stage, self.known)
    }

    /// Divides the budget between steps and columns.
    fn make_room(&mut self, step: usize, alone: bool) -> bool {
        let Work { columns, budget, .. } = self.work;
        let divided = if alone { columns.give_up(budget) } else { columns.fit(self.graph, budget, self.known) };
        divided.map_err(|error| self.fail(step, error)).is_ok()
    }

    fn holds_memory(&self) -> bool {
        self.work.columns.hold_memory()
    }

    fn start(&mut self, position: usize, grant: Grant) -> Box<dyn FnOnce() -> Self::Outcome + Send + 'a> {
        let (work, step, stop) = (self.work, &self.graph.steps[position], self.stop);
        self.waiting.remove(&position);
        let display: &dyn Progress = if self.shown.is_none() { work.display } else { &Silent };
        self.shown.get_or_insert(position);
        let lengths = self.journal.lengths(work.scratch, step);
        Box::new(move || {
            let measured = Measured::new(display);
            // Nobody forwards a cancellation to a step in the scheduler's thread.
            let cancel = if grant.is_inline { work.cancel } else { stop };
            let context = Context { budget: grant.budget, threads: work.threads, progress: &measured, cancel };
            let (begun, _) = (Instant::now(), divisible::take());
            let whole = || whole(work.scratch, &lengths);
            let outcome = match whole() {
                Ok(()) => panics::held(|| run(step, work, &context, &lengths)),
                Err(cut_off) => Ok(Err(cut_off)),
            };
            let outcome = outcome.or_else(|panic| damage(work.scratch, &lengths).map_or(Err(panic), |it| Ok(Err(it))));
            drop(context);
            // A truncated file is the cause, whatever the outcome of the step.
            let outcome = whole().map_or_else(|cut_off| Ok(Err(cut_off)), |()| outcome);
            let outcome = outcome.map(|outcome| measured.outcome(outcome));
            (outcome, Took { seconds: begun.elapsed().as_secs_f64(), divisible_seconds: divisible::take() })
        })
    }

    /// The step needs more memory than it can declare.
    fn lacks_memory((outcome, _): &Self::Outcome) -> bool {
        matches!(outcome, Ok(Err(StageError::Budget { .. })))
    }

    /// The step runs again as after a kill; the reader reads the input again.
    fn take_back(&mut self, step: usize) {
        self.shown.take_if(|shown| *shown == step);
        let Work { scratch, columns, budget, reopen, input, .. } = self.work;
        let read_again = || columns.give_up(budget).and_then(|()| reopen()).map(|again| input.refill(again));
        let undone = self.journal.take_back(scratch, &self.graph.steps[step]);
        match undone.and_then(|()| if step == 0 { read_again() } else { Ok(()) }) {
            Ok(()) => _ = self.waiting.insert(step),
            Err(error) => self.fail(step, error),
        }
    }

    fn end(&mut self, step: usize, (outcome, took): Self::Outcome) {
        self.shown.take_if(|shown| *shown == step);
        let outcome = outcome.unwrap_or_else(|panic| {
            self.stop.store(true, Ordering::Relaxed);
            panic.resume()
        });
        if let Err(error) = outcome.and_then(|stats| self.finish(step, stats, took)) {
            self.fail(step, error);
        }
        if self.graph.steps[step].modifies(documents::METADATA) {
            self.known = (self.size)();
        }
    }

    /// Forwards cancellation to the steps.
    fn poll(&mut self) {
        if self.work.cancel.load(Ordering::Relaxed) {
            self.stop.store(true, Ordering::Relaxed);
            self.work.budget.stop();
        }
    }
}

impl<'a, 'j> Steps<'a, 'j> {
    fn new(
        graph: &'a Graph,
        asked: impl Fn(usize) -> bool,
        (size, stop): (&'j dyn Fn() -> (u64, u64), &'a AtomicBool),
        work: &'a Work<'a>,
        journal: &'j mut Journal,
    ) -> Self {
        let liveness = Liveness::new(graph, journal.is_kept());
        let mut steps = Self {
            graph,
            work,
            journal,
            size,
            known: size(),
            stop,
            waiting: BTreeSet::new(),
            shown: None,
            done: BTreeSet::new(),
            absent: BTreeSet::new(),
            liveness,
            failed: None,
            ran: Vec::new(),
        };
        for (position, step) in graph.steps.iter().enumerate() {
            if !step.product.is_part_of_run() && steps.journal.has(&step.name) {
                steps.settle(position);
            } else if asked(position) {
                steps.waiting.insert(position);
            }
        }
        steps
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
    fn finish(&mut self, position: usize, stats: Stats, took: Took) -> Result<(), StageError> {
        let step = &self.graph.steps[position];
        let Work { scratch, display, setting, .. } = self.work;
        let Stats { rows, spilled_bytes } = stats;
        let done = Done { stage: step.name.clone(), seconds: took.seconds, rows, spilled_bytes };
        // Between two removals scratch only grows.
        if self.liveness.is_last_user(step) || !step.stage.rewrites.is_empty() {
            scratch.measure();
        }
        if !step.product.is_part_of_run() {
            self.journal.add(scratch, step, done.clone())?;
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

    /// Stops the others, and keeps the error of the first step in order. A cancelled step is never the cause.
    fn fail(&mut self, step: usize, error: StageError) {
        self.stop.store(true, Ordering::Relaxed);
        let rank = |step: usize, error: &StageError| (matches!(error, StageError::Cancelled), step);
        if self.failed.as_ref().is_none_or(|(other, before)| rank(step, &error) < rank(*other, before)) {
            self.failed = Some((step, error));
        }
    }

    fn result(mut self) -> Result<Vec<Ran>, StageError> {
        match self.failed {
            Some((_, error)) => Err(error),
            None if self.waiting.is_empty() => {
                self.ran.sort_by_key(|ran| ran.position);
                Ok(self.ran)
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
    Some(StageError::scratch(&path, "its checksum does not match"))
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
    context.progress.end();
    scratch.undamaged()?;
    match step.writes.iter().find(|file| !file.optional && !work.has(file)) {
        None => Ok(stats),
        Some(file) => {
            let problem = format!("stage {} declares that it writes this and did not", step.name);
            Err(StageError::scratch(&work.scratch.file(&file.name), problem))
        }
    }
}
