//! A snapshot to compare: its run folder, checked.

use heaplake_kit::StageError;
use heaplake_lake::reader::Reader;
use heaplake_lake::selection::{self, FoundRun};
use heaplake_names::{Normaliser, Runtime};
use heaplake_schemas::run::Run;
use heaplake_schemas::{classes, nodes};
use std::path::{Path, PathBuf};

/// A run of a snapshot.
pub(super) struct Side {
    /// Run folder.
    pub folder: PathBuf,
    /// Run description.
    pub run: Run,
    /// Rules for signatures.
    pub names: Normaliser,
    /// Keeps the tables open.
    _held: FoundRun,
}

/// How a format identifies objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// V8 snapshots: stable ids.
    V8,
    /// Walks of a .NET heap in a trace: addresses, tracked by the replay of the trace.
    Walk,
    /// Other formats: addresses.
    Addresses,
}

impl Side {
    /// Opens a run; it must have the tables of nodes and classes.
    pub(super) fn open(folder: &Path) -> Result<Self, StageError> {
        let held = selection::hold(folder)?;
        let held =
            held.ok_or_else(|| refused(folder, "no run is there", "give the folder of a run, with its run.json"))?;
        let run = held.run.clone();
        if run.replay.is_some() {
            let problem = "the run is the replay of a trace, which has no snapshot of objects";
            return Err(refused(folder, problem, "give runs of heaplake analyze; walks of a trace with --walk"));
        }
        let names = Normaliser::of(Runtime::of_format(&run.summary.format));
        let side = Self { folder: folder.to_owned(), run, names, _held: held };
        side.reader(nodes::TABLE.file)?;
        side.reader(classes::TABLE.file)?;
        Ok(side)
    }

    /// Opens a required table.
    pub(super) fn reader(&self, file: &str) -> Result<Reader, StageError> {
        let table = file.trim_end_matches(".parquet");
        self.reader_if_any(file)?.ok_or_else(|| {
            let advice = format!("analyse the input again, with --force and {table} among --tables");
            refused(&self.folder, &format!("the run has no table {table}, by which objects are compared"), &advice)
        })
    }

    /// Opens a table if the run has it.
    pub(super) fn reader_if_any(&self, file: &str) -> Result<Option<Reader>, StageError> {
        Reader::open_if_present(&self.folder.join(file))
    }

    /// How the format identifies objects.
    pub(super) fn format(&self) -> Format {
        match self.run.summary.format.as_str() {
            "v8-heapsnapshot" => Format::V8,
            "dotnet-nettrace" | "profiler-log-walk" => Format::Walk,
            _ => Format::Addresses,
        }
    }
}

/// Error that refuses a run.
pub(super) fn refused(folder: &Path, problem: &str, advice: &str) -> StageError {
    StageError::Refused { problem: format!("{}: {problem}", folder.display()), advice: advice.to_owned() }
}

/// Refuses runs in which objects have no common identity.
pub(super) fn check_identity(sides: &[&Side], stable_ids: bool, tracked: bool) -> Result<(), StageError> {
    let first = sides[0];
    let format = &first.run.summary.format;
    if let Some(other) = sides.iter().find(|side| side.run.summary.format != *format) {
        let problem =
            format!("its format is {}, and that of {} is {format}", other.run.summary.format, first.folder.display());
        return Err(refused(&other.folder, &problem, "give snapshots of one process"));
    }
    match first.format() {
        Format::Walk if !tracked => Err(refused(
            &first.folder,
            "objects of a .NET heap are identified by the replay of their trace, and none was given",
            "replay the trace with heaplake replay TRACE --tracks, and give its run with --tracks",
        )),
        Format::Addresses if !stable_ids => Err(refused(
            &first.folder,
            &format!(
                "ids in {format} are addresses, which collections change: they do not tell whether two objects are one"
            ),
            "compare the runs without --objects; give --stable-ids if the ids of this virtual machine are no addresses",
        )),
        _ => Ok(()),
    }
}
