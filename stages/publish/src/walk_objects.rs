//! Stage `walk_objects`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::walk_objects`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use heaplake_kit::access::column;
use heaplake_kit::{Job, Stage, StageError, Stats};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::WALK_OBJECTS;
use heaplake_schemas::walk_objects::{FILE, schema};

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "walk_objects",
    when: |setting| setting.traces(TraceTable::WalkObjects),
    reads: &[column(WALK_OBJECTS)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let rows = Rows::of(job.scratch, WALK_OBJECTS);
    let sources = vec![
        rows.u32s(|row| row.gc)?,
        rows.u64s(|row| row.address)?,
        rows.optional_ids(|row| row.object)?,
        rows.optional_ids(|row| row.type_id)?,
        rows.optional_sizes(|row| row.bytes)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
