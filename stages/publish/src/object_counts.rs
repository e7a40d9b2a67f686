//! Stage `object_counts`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::object_counts`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::text::Texts;
use heaplake_schemas::object_counts::{FILE, schema};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::{OBJECT_COUNTS, TYPE_NAMES};

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "object_counts",
    when: |setting| setting.traces(TraceTable::ObjectCounts),
    reads: &[column(OBJECT_COUNTS), texts(TYPE_NAMES)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let names = StringTable::open(job.scratch, TYPE_NAMES)?;
    let rows = Rows::of(job.scratch, OBJECT_COUNTS);
    let sources = vec![
        rows.u32s(|row| row.gc)?,
        rows.flags(|row| row.after_gc)?,
        rows.times(|row| row.counted_at_us)?,
        rows.u32s(|row| row.type_id)?,
        rows.texts(Texts::Table(&names), |row| row.type_id)?,
        rows.sizes(|row| row.count)?,
        rows.sizes(|row| row.bytes)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
