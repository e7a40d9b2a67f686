//! Stage `allocation_types`: writes the rows of a replay, or of the classes of a snapshot, to the table of that name.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::allocation_types`].

use crate::rows::{Rows, STAGE_OF_ROWS, write};
use crate::signature_columns::signed;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{ColumnMap, Job, Setting, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::Source;
use heaplake_lake::text::{NONE, Texts};
use heaplake_schemas::allocation_types::TypeRow;
use heaplake_schemas::options::{TableName, TraceTable};
use heaplake_schemas::replay::{TYPE_NAMES, TYPE_SIGNATURES, TYPES};
use heaplake_schemas::scratch::{CLASS_NAME, CLASS_SIGNATURES, STRINGS};

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "allocation_types",
    version: 3,
    when: |setting| traces(setting) || analyses(setting),
    reads: &[
        column(TYPES),
        texts(TYPE_NAMES).when(traces),
        texts(TYPE_SIGNATURES).when(traces),
        column(CLASS_NAME).when(analyses),
        texts(STRINGS).when(analyses),
        texts(CLASS_SIGNATURES).when(analyses),
    ],
    run,
    ..STAGE_OF_ROWS
};

fn traces(setting: &Setting<'_>) -> bool {
    setting.traces(TraceTable::AllocationTypes)
}

fn analyses(setting: &Setting<'_>) -> bool {
    setting.has(TableName::AllocationTypes)
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let scratch = job.scratch;
    let rows = Rows::of(scratch, TYPES);
    let of_trace = traces(&job.setting);
    let (names, signatures) = if of_trace { (TYPE_NAMES, TYPE_SIGNATURES) } else { (STRINGS, CLASS_SIGNATURES) };
    let (names, signatures) = (StringTable::open(scratch, names)?, StringTable::open(scratch, signatures)?);
    let classes = if of_trace { None } else { Some(ColumnMap::uncounted(scratch, CLASS_NAME)?) };
    let name = |type_id: u32| match &classes {
        None => type_id,
        Some(classes) => classes.get(type_id as usize).and_then(|name| name.get()).unwrap_or(NONE),
    };
    let mut positions = rows.values(|row| row.type_id)?;
    let names = Source::texts(Texts::Table(&names), move |count| Ok(positions(count)?.into_iter().map(name).collect()));
    let mut computed = signed(&signatures, || rows.values(|row| row.type_id))?;
    computed.push(("type", names));
    write::<TypeRow>(job, STAGE.name, computed)
}
