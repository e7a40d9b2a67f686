//! A snapshot to compare: its run folder, checked.

use heaplake_kit::StageError;
use heaplake_lake::reader::Reader;
use heaplake_lake::selection::{self, OpenRun};
use heaplake_names::{Normaliser, Runtime};
use heaplake_schemas::{classes, nodes};
use std::path::Path;

/// A run of a snapshot, with its tables held open.
pub(super) struct Side {
    /// The run.
    pub found: OpenRun,
    /// Rules for signatures.
    pub names: Normaliser,
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
        let advice = "give the folder of a run, with its run.json";
        let found = selection::hold(folder)?.ok_or_else(|| refused(folder, "no run is there", advice))?;
        if found.run.replay.is_some() {
            let problem = "the run is the replay of a trace, which has no snapshot of objects";
            return Err(refused(folder, problem, "give runs of heaplake analyze; walks of a trace with --walk"));
        }
        let names = Normaliser::of(Runtime::of_format(&found.run.summary.format));
        let side = Self { found, names };
        side.reader(nodes::TABLE.file)?;
        side.reader(classes::TABLE.file)?;
        Ok(side)
    }

    /// Opens a required table.
    pub(super) fn reader(&self, file: &str) -> Result<Reader, StageError> {
        let table = file.trim_end_matches(".parquet");
        self.reader_if_any(file)?.ok_or_else(|| {
            let advice = format!("analyse the input again, with --force and {table} among --tables");
            refused(
                self.found.place(),
                &format!("the run has no table {table}, by which objects are compared"),
                &advice,
            )
        })
    }

    /// Opens a table if the run has it.
    pub(super) fn reader_if_any(&self, file: &str) -> Result<Option<Reader>, StageError> {
        Reader::open_if_present(&self.found.place().join(file))
    }

    /// How the format identifies objects.
    pub(super) fn format(&self) -> Format {
        match self.found.run.summary.format.as_str() {
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
    let format = &first.found.run.summary.format;
    if let Some(other) = sides.iter().find(|side| side.found.run.summary.format != *format) {
        let problem = format!(
            "its format is {}, and that of {} is {format}",
            other.found.run.summary.format,
            first.found.place().display()
        );
        return Err(refused(other.found.place(), &problem, "give snapshots of one process"));
    }
    match first.format() {
        Format::Walk if !tracked => Err(refused(
            first.found.place(),
            "objects of a .NET heap are identified by the replay of their trace, and none was given",
            "replay the trace with heaplake replay TRACE --tracks, and give its run with --tracks",
        )),
        Format::Addresses if !stable_ids => Err(refused(
            first.found.place(),
            &format!(
                "ids in {format} are addresses, which collections change: they do not tell whether two objects are one"
            ),
            "compare the runs without --objects; give --stable-ids if the ids of this virtual machine are no addresses",
        )),
        _ => Ok(()),
    }
}
