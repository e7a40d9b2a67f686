//! What every stage declares about itself, is given, and gives back.
//!
//! A stage is one file with one constant of type [`Stage`] and one entry function. The constant is all that is said about
//! the stage: from the constants of all stages the engine derives what a run consists of, its order, what runs side by
//! side, when a column can go, and whether the budget suffices.

use crate::access::{Access, Size};
use crate::setting::Setting;
use crate::{Budget, ColumnReader, Scratch, StageError};
use heaplake_schemas::options::{AnalysisOptions, Options};
use heaplake_schemas::scratch::{CLASS_NAME, Facts, documents};
use std::any::Any;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a stage declares.
///
/// A stage is fast when its [`arrays`](Self::arrays) are resident; with less memory it pages them, and works as long as
/// [`fixed`](Self::fixed) and [`least`](Self::least) fit.
pub struct Stage {
    /// Name in progress bars, logs, `heaplake plan` and the `snapshot` table.
    pub name: &'static str,
    /// Raised whenever the stage's output changes, so that old scratch is not reused.
    pub version: u32,
    /// Whether a run has it.
    pub when: fn(&Setting<'_>) -> bool,
    /// What it reads.
    pub reads: &'static [Access],
    /// What it writes, all of it.
    pub writes: &'static [Access],
    /// What other stages wrote and this one adds to at the end. A killed run goes on with the length of before.
    pub appends: &'static [Access],
    /// What other stages wrote and this one replaces in one step, such that doing it twice does no harm.
    pub updates: &'static [Access],
    /// What other stages wrote and this one writes anew from [`Scratch::originals`].
    pub rewrites: &'static [Access],
    /// The arrays that it likes to have resident, one list for each of its phases.
    pub arrays: &'static [&'static [Size]],
    /// What must be resident besides [`fixed`](Self::fixed).
    pub least: &'static [Size],
    /// Bytes that must be resident whatever the input.
    pub fixed: u64,
    /// Scratch that it takes only while it works.
    pub temporary: &'static [Size],
    /// What it goes through, in words.
    pub passes: &'static str,
    /// Does the work.
    ///
    /// # Errors
    /// Says its header.
    pub run: fn(&Job<'_>) -> Result<Stats, StageError>,
}

impl Stage {
    /// A stage that does nothing in every run, to be filled in.
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
        temporary: &[],
        passes: "",
        run: |_| Ok(Stats { rows: 0, spilled_bytes: 0 }),
    };

    /// Bytes of budget below which the stage cannot work on an input of this size.
    #[must_use]
    pub fn least_bytes(&self, nodes: u64, edges: u64) -> u64 {
        self.fixed.saturating_add(sum(self.least, nodes, edges))
    }

    /// Bytes of budget from which on the stage pages nothing.
    #[must_use]
    pub fn resident_bytes(&self, nodes: u64, edges: u64) -> u64 {
        let widest = self.arrays.iter().map(|phase| sum(phase, nodes, edges)).max().unwrap_or(0);
        self.least_bytes(nodes, edges).saturating_add(widest)
    }

    /// Bytes of scratch that it takes only while it works.
    #[must_use]
    pub fn temporary_bytes(&self, nodes: u64, edges: u64) -> u64 {
        sum(self.temporary, nodes, edges)
    }

    /// Everything that it declares, whatever the run.
    pub fn accesses(&self) -> impl Iterator<Item = &'static Access> + use<> {
        [self.reads, self.writes, self.appends, self.updates, self.rewrites].into_iter().flatten()
    }
}

fn sum(sizes: &[Size], nodes: u64, edges: u64) -> u64 {
    sizes.iter().fold(0, |sum, size| sum.saturating_add(size.bytes(nodes, edges)))
}

/// What a stage did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Rows of its main output.
    pub rows: u64,
    /// Bytes that it wrote to scratch only because they did not fit the budget or had to be brought into order.
    pub spilled_bytes: u64,
}

/// Something for one stage whose type only that stage and the caller know: the opened input, for a reader.
pub struct Handover(Mutex<Option<Box<dyn Any + Send>>>);

impl Handover {
    /// Nothing.
    #[must_use]
    pub const fn nothing() -> Self {
        Self(Mutex::new(None))
    }

    /// Something.
    #[must_use]
    pub fn of<T: Send + 'static>(thing: T) -> Self {
        Self(Mutex::new(Some(Box::new(thing))))
    }

    /// Takes it, once.
    pub fn take<T: 'static>(&self) -> Option<T> {
        let thing = self.0.lock().ok()?.take()?;
        thing.downcast().ok().map(|thing| *thing)
    }
}

/// Where the tables of a run are written.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// The hidden folder that becomes the run.
    pub folder: PathBuf,
    /// Hash of the input, which each table carries.
    pub input_hash: String,
}

/// What a stage is given: the same for all of them.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The columns. A stage reaches those that it declares, and files of its own.
    pub scratch: &'a Scratch,
    /// Budget, threads, progress, cancellation.
    pub context: &'a Context<'a>,
    /// What kind of run it belongs to.
    pub setting: Setting<'a>,
    /// The opened input, for the stage that reads it.
    pub input: &'a Handover,
    /// Asked by readers, once, before the bulk of the input is read: whether so many nodes may be taken on.
    pub admit: &'a (dyn Fn(u64) -> Result<(), StageError> + Sync),
    /// Where tables go.
    pub output: &'a Output,
}

impl<'a> Job<'a> {
    /// A job without input and tables, for stages that only turn columns into columns.
    #[must_use]
    pub fn on(scratch: &'a Scratch, context: &'a Context<'a>, options: &'a Options) -> Self {
        static NO_INPUT: Handover = Handover::nothing();
        static NO_OUTPUT: Output = Output { folder: PathBuf::new(), input_hash: String::new() };
        let setting = Setting { options, follows_essential: false };
        Self { scratch, context, setting, input: &NO_INPUT, admit: &|_| Ok(()), output: &NO_OUTPUT }
    }

    /// What the reader learned about the input.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub fn facts(&self) -> Result<Facts, StageError> {
        self.scratch.read_document(documents::FACTS)
    }

    /// Number of classes: there is a name for each. For stages that declare to read the names.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub fn class_count(&self) -> Result<usize, StageError> {
        Ok(ColumnReader::open(self.scratch, CLASS_NAME)?.remaining() as usize)
    }

    /// The options of the analysis that it belongs to; the defaults for a replay.
    #[must_use]
    pub fn analysis(&self) -> &'a AnalysisOptions {
        match self.setting.options.analysis() {
            Some(options) => options,
            None => AnalysisOptions::defaults(),
        }
    }

    /// File of a table.
    #[must_use]
    pub fn table(&self, file: &str) -> PathBuf {
        self.output.folder.join(file)
    }
}

/// Hears how far a stage has come.
pub trait Progress: Sync {
    /// A stage begins; its work is `total` units (bytes, nodes or edges, as the stage sees fit), 0 when unknown.
    fn begin(&self, stage: &'static str, total: u64);
    /// So many units are done since the last call.
    fn advance(&self, units: u64);
    /// The stage is over.
    fn end(&self);
}

/// A sink for runs that nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _stage: &'static str, _total: u64) {}
    fn advance(&self, _units: u64) {}
    fn end(&self) {}
}

/// What a stage is given besides its input and output.
pub struct Context<'a> {
    /// Bounds what the stage allocates.
    pub budget: Budget,
    /// Threads that the stage may use, at least 1.
    pub threads: usize,
    /// Hears of progress.
    pub progress: &'a dyn Progress,
    /// Set from outside when the run must stop.
    pub cancel: &'a AtomicBool,
}

impl Context<'_> {
    /// Returns an error once the run was asked to stop. Stages call it at least every few milliseconds.
    ///
    /// # Errors
    /// [`StageError::Cancelled`].
    #[inline]
    pub fn check(&self) -> Result<(), StageError> {
        if self.cancel.load(Ordering::Relaxed) { Err(StageError::Cancelled) } else { Ok(()) }
    }

    /// Tells that `units` of work are done, and checks for a request to stop.
    ///
    /// # Errors
    /// [`StageError::Cancelled`].
    pub fn step(&self, units: u64) -> Result<(), StageError> {
        self.progress.advance(units);
        self.check()
    }
}
