//! Stage `collection_roots`: writes the rows of the replay to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::collection_roots`].

use crate::rows::{Rows, STAGE_OF_ROWS};
use crate::writer::write;
use heaplake_kit::access::column;
use heaplake_kit::{Job, Stage, StageError, Stats};
use heaplake_lake::text::Texts;
use heaplake_schemas::collection_roots::{FILE, KINDS, schema};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay::ROOTS;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "collection_roots",
    when: |setting| setting.traces(TraceTable::CollectionRoots),
    reads: &[column(ROOTS)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let kinds = KINDS.map(str::to_owned);
    let rows = Rows::of(job.scratch, ROOTS);
    let sources = vec![
        rows.u32s(|row| row.gc)?,
        rows.u64s(|row| row.address)?,
        rows.texts(Texts::Names(&kinds), |row| row.kind)?,
        rows.u32s(|row| row.flags)?,
        rows.u64s(|row| row.id)?,
        rows.sizes(|row| row.count)?,
        rows.optional_ids(|row| row.object)?,
        rows.optional_ids(|row| row.type_id)?,
    ];
    write(job, STAGE.name, (FILE, schema()), sources, rows.count()?)
}
