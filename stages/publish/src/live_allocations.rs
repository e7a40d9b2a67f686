//! Stage `live allocations table`: writes the rows of live objects by class, stack and time to their table.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::live_allocations`].

use crate::rows::{Rows, STAGE_OF_ROWS, write};
use heaplake_kit::access::{column, texts};
use heaplake_kit::{ColumnMap, Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::Source;
use heaplake_lake::text::{NONE, Texts};
use heaplake_schemas::live_allocations::{LiveRow, ROWS};
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch::{CLASS_NAME, STRINGS};

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "live allocations table",
    when: |setting| setting.has(TableName::LiveAllocations),
    reads: &[column(ROWS), column(CLASS_NAME), texts(STRINGS)],
    run,
    ..STAGE_OF_ROWS
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let strings = StringTable::open(job.scratch, STRINGS)?;
    let classes = ColumnMap::uncounted(job.scratch, CLASS_NAME)?;
    let name = |class: u32| classes.get(class as usize).and_then(|name| name.get()).unwrap_or(NONE);
    let mut positions = Rows::of(job.scratch, ROWS).values(|row| row.class)?;
    let names = move |count| Ok(positions(count)?.into_iter().map(name).collect());
    write::<LiveRow>(job, STAGE.name, vec![("class", Source::texts(Texts::Table(&strings), names))])
}
