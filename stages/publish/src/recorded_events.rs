//! Stage `recorded_events`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::recorded_events`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::text::Texts;
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::recorded_events::{FILE, schema};
use heaplake_schemas::replay::{RECORDED_EVENTS, RECORDING_TEXTS};

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "recorded_events",
    when: |setting| setting.traces(TraceTable::RecordedEvents),
    reads: &[column(RECORDED_EVENTS), texts(RECORDING_TEXTS)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let strings = StringTable::open(job.scratch, RECORDING_TEXTS)?;
    let rows = Rows::of(job.scratch, RECORDED_EVENTS);
    let sources = vec![
        rows.texts(Texts::Table(&strings), |row| row.event)?,
        rows.sizes(|row| row.count)?,
        rows.sizes(|row| row.bytes)?,
        rows.flags(|row| row.used)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
