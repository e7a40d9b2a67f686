//! The declaration of a stage, its input and its result.
//!
//! A stage is one file with one constant of type [`Stage`] and one entry function. From the declarations of all stages
//! the engine derives the stages of a run, their order and parallelism, when columns can be deleted, and whether the
//! budget suffices.

use crate::access::{Access, Size};
use crate::setting::Setting;
use crate::{Budget, ColumnReader, Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::options::{AnalysisOptions, Options};
use heaplake_schemas::scratch::{CLASS_NAME, Column, Metadata, documents};
use std::any::Any;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The declaration of a stage.
///
/// A stage is fast if its [`arrays`](Self::arrays) are resident; with less memory it pages them. It needs at least
/// [`fixed`](Self::fixed) and [`least`](Self::least).
pub struct Stage {
    /// Name in progress bars, logs, `heaplake plan` and the `snapshot` table.
    pub name: &'static str,
    /// Incremented whenever the output of the stage changes, to invalidate old scratch.
    pub version: u32,
    /// True if a run includes the stage.
    pub when: fn(&Setting<'_>) -> bool,
    /// Files that it reads.
    pub reads: &'static [Access],
    /// All files that it writes.
    pub writes: &'static [Access],
    /// Files of other stages that it appends to. After a kill the run truncates them to their former length.
    pub appends: &'static [Access],
    /// Files of other stages that it replaces atomically and idempotently.
    pub updates: &'static [Access],
    /// Files of other stages that it rewrites from [`Scratch::originals`].
    pub rewrites: &'static [Access],
    /// Arrays that are resident if they fit: one list per group of arrays that exist at the same time.
    pub arrays: &'static [&'static [Size]],
    /// Data that must be resident besides [`fixed`](Self::fixed), and grows with the input.
    pub least: &'static [Size],
    /// Bytes that must be resident for any input.
    pub fixed: u64,
    /// True if it may run in parallel with another stage, with half of the budget, when its arrays do not fit. For
    /// stages with mostly sequential access, hardly slowed by half the page frames.
    pub shares: bool,
    /// Scratch used only while it runs.
    pub temporary: &'static [Size],
    /// Its passes over the disk, as text.
    pub passes: &'static str,
    /// Runs the stage. Errors: see the header of the stage.
    pub run: fn(&Job<'_>) -> Result<Stats, StageError>,
}

impl Stage {
    /// A stage that does nothing and is part of every run: the base for struct updates.
    pub const NEW: Self = Self {
        name: "",
        version: 1,
        when: |_| true,
        reads: &[],
        writes: &[],
        appends: &[],
        updates: &[],
        rewrites: &[],
        arrays: &[],
        least: &[],
        fixed: 0,
        shares: false,
        temporary: &[],
        passes: "",
        run: |_| Ok(Stats { rows: 0, spilled_bytes: 0 }),
    };

    /// Minimum budget for an input of this size, bytes.
    pub fn least_bytes(&self, nodes: u64, edges: u64) -> u64 {
        self.fixed.saturating_add(sum(self.least, nodes, edges))
    }

    /// Budget with which the stage pages nothing, bytes.
    pub fn resident_bytes(&self, nodes: u64, edges: u64) -> u64 {
        let widest = self.arrays.iter().map(|phase| sum(phase, nodes, edges)).max().unwrap_or(0);
        self.least_bytes(nodes, edges).saturating_add(widest)
    }

    /// Bytes of scratch used only while it runs.
    pub fn temporary_bytes(&self, nodes: u64, edges: u64) -> u64 {
        sum(self.temporary, nodes, edges)
    }

    /// All declared accesses, for any run.
    pub fn accesses(&self) -> impl Iterator<Item = &'static Access> + use<> {
        [self.reads, self.writes, self.appends, self.updates, self.rewrites].into_iter().flatten()
    }
}

fn sum(sizes: &[Size], nodes: u64, edges: u64) -> u64 {
    sizes.iter().fold(0, |sum, size| sum.saturating_add(size.bytes(nodes, edges)))
}

/// The result of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Rows of its main output.
    pub rows: u64,
    /// Bytes written to scratch because they did not fit the budget or had to be sorted.
    pub spilled_bytes: u64,
}

/// A type-erased value that the caller passes to one stage: the opened input, for a reader.
pub struct Handover(Mutex<Option<Box<dyn Any + Send>>>);

impl Handover {
    /// An empty handover.
    pub const fn nothing() -> Self {
        Self(Mutex::new(None))
    }

    /// A handover with a value.
    pub fn of<T: Send + 'static>(thing: T) -> Self {
        Self(Mutex::new(Some(Box::new(thing))))
    }

    /// Takes the value of another handover.
    pub fn refill(&self, other: Self) {
        if let (Ok(mut thing), Ok(other)) = (self.0.lock(), other.0.into_inner()) {
            *thing = other;
        }
    }

    /// Takes the value; the second call returns `None`.
    pub fn take<T: 'static>(&self) -> Option<T> {
        let thing = self.0.lock().ok()?.take()?;
        thing.downcast().ok().map(|thing| *thing)
    }
}

/// Where the tables of a run are written.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// The hidden folder that becomes the run on commit.
    pub folder: PathBuf,
    /// Hash of the input, which each table carries.
    pub input_hash: String,
    /// Release of the run, a column of each table.
    pub release: String,
    /// Name of the run, a column of each table.
    pub snapshot: String,
}

/// The argument of every stage.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The scratch folder. A stage can open the files that it declares, and files of its own.
    pub scratch: &'a Scratch,
    /// Budget, threads, progress, cancellation.
    pub context: &'a Context<'a>,
    /// The options of the run.
    pub setting: Setting<'a>,
    /// The opened input, for the stage that reads it.
    pub input: &'a Handover,
    /// Asks whether the run may process this many nodes. Readers call it once, before the bulk of the input.
    pub admit: &'a (dyn Fn(u64) -> Result<(), StageError> + Sync),
    /// Where tables are written.
    pub output: &'a Output,
}

impl<'a> Job<'a> {
    /// Creates a job without input and tables, for stages that only transform columns.
    pub fn on(scratch: &'a Scratch, context: &'a Context<'a>, options: &'a Options) -> Self {
        static NO_INPUT: Handover = Handover::nothing();
        static NO_OUTPUT: Output = Output {
            folder: PathBuf::new(),
            input_hash: String::new(),
            release: String::new(),
            snapshot: String::new(),
        };
        let setting = Setting { options, follows_essential: false };
        Self { scratch, context, setting, input: &NO_INPUT, admit: &|_| Ok(()), output: &NO_OUTPUT }
    }

    /// Returns the metadata of the input, from the reader.
    pub fn metadata(&self) -> Result<Arc<Metadata>, StageError> {
        self.scratch.share_document(documents::METADATA)
    }

    /// Returns the number of classes. For stages that declare that they read class names.
    pub fn class_count(&self) -> Result<usize, StageError> {
        Ok(ColumnReader::open(self.scratch, CLASS_NAME)?.remaining() as usize)
    }

    /// As [`Self::each_row`], for a column that some runs lack.
    pub fn each_row_if_any<T: Pod>(
        &self,
        column: Column<T>,
        visit: impl FnMut(T) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        if Scratch::has(self.scratch, column) { self.each_row(column, visit) } else { Ok(()) }
    }

    /// Calls `visit` for each row of a column; checks for cancellation.
    pub fn each_row<T: Pod>(
        &self,
        column: Column<T>,
        mut visit: impl FnMut(T) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let mut rows = ColumnReader::open(self.scratch, column)?;
        while rows.remaining() > 0 {
            self.context.check_every(1 << 12, rows.remaining())?;
            visit(rows.next()?)?;
        }
        Ok(())
    }

    /// Returns the options of the analysis; the defaults for a replay.
    pub fn analysis(&self) -> &'a AnalysisOptions {
        self.setting.options.analysis_or_default()
    }

    /// Returns the path of a table.
    pub fn table(&self, file: &str) -> PathBuf {
        self.output.folder.join(file)
    }
}

/// Receives the progress of a stage.
pub trait Progress: Sync {
    /// A stage begins; `total` is its work in units of its choice (bytes, nodes, edges), 0 if unknown.
    fn begin(&self, stage: &'static str, total: u64);
    /// `units` were done since the last call.
    fn advance(&self, units: u64);
    /// The stage has ended. Called by whoever runs it.
    fn end(&self);
}

/// Ignores progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _stage: &'static str, _total: u64) {}
    fn advance(&self, _units: u64) {}
    fn end(&self) {}
}

/// Budget, threads, progress and cancellation of a stage.
pub struct Context<'a> {
    /// Bounds the allocations of the stage.
    pub budget: Budget,
    /// Threads that the stage may use, at least 1.
    pub threads: usize,
    /// Receives progress.
    pub progress: &'a dyn Progress,
    /// Set from outside to cancel the run.
    pub cancel: &'a AtomicBool,
}

impl Context<'_> {
    /// Returns [`StageError::Cancelled`] once the run is cancelled. Stages call it at least every few milliseconds.
    #[inline]
    pub fn check(&self) -> Result<(), StageError> {
        if self.cancel.load(Ordering::Relaxed) { Err(StageError::Cancelled) } else { Ok(()) }
    }

    /// Reports `units` as done and checks for cancellation.
    pub fn step(&self, units: u64) -> Result<(), StageError> {
        self.progress.advance(units);
        self.check()
    }

    /// [`Self::check`] if `number`, which counts the turns of a loop, is a multiple of `stride`.
    #[inline]
    pub fn check_every(&self, stride: u64, number: impl TryInto<u64>) -> Result<(), StageError> {
        if multiple(number, stride).is_some() { self.check() } else { Ok(()) }
    }

    /// [`Self::step`] of `stride` units if `number`, which counts them, is a multiple of it, but not 0.
    #[inline]
    pub fn step_every(&self, stride: u64, number: impl TryInto<u64>) -> Result<(), StageError> {
        if multiple(number, stride).is_some_and(|number| number > 0) { self.step(stride) } else { Ok(()) }
    }
}

/// Returns `number` if it is a multiple of `stride`.
#[inline]
fn multiple(number: impl TryInto<u64>, stride: u64) -> Option<u64> {
    number.try_into().ok().filter(|number: &u64| number.is_multiple_of(stride))
}
