//! Stage `possible classes`: the classes with possible duplicates.
//!
//! * Computes: for each class the members of its inexact sets, by reason: references not fully compared, or data
//!   missing in the input; and the bytes that sharing them would save: those of all members but one of each set,
//!   without their references. No object is in two sets, so these add up.
//! * Resident memory: 48 bytes per class; 4 per node for classes, paged where the budget does not allow it.
//! * Passes over disk: one over the sets.
//! * Worst case: linear, and sorting of the classes.
//! * Fails when: the budget is too small for the classes.
//! * Determinism: by bytes, then class.
//! * Reference: none needed.

use bytemuck::Zeroable;
use heaplake_kit::access::{column, per_node};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::{ArrayPlan, ColumnReader, ColumnWriter, Job, ReadAt, Stage, StageError, Stats};
use heaplake_schemas::ids::{ClassId, SetId};
use heaplake_schemas::possible_duplicates::{POSSIBLE_CLASS, PossibleRow};
use heaplake_schemas::scratch::{self as columns, limits};
use std::cmp::Reverse;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "possible classes",
    version: 2,
    when: |setting| setting.duplicates(),
    reads: &[column(columns::SET_ROW), column(columns::NODE_CLASS), column(columns::CLASS_NAME)],
    writes: &[column(POSSIBLE_CLASS)],
    arrays: &[&[per_node::<ClassId>()]],
    fixed: 8 << 20,
    passes: "sets once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut sets = ColumnReader::open(scratch, columns::SET_ROW)?;
    context.progress.begin(STAGE.name, sets.remaining());
    let mut classes = context.budget.filled(STAGE.name, job.class_count()?, PossibleRow::zeroed())?;
    // Bytes of the largest set of each class.
    let mut largest = context.budget.zeroed::<u64>(STAGE.name, classes.len())?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let mut class_of = plan.one(lookup(columns::NODE_CLASS))?;
    for set in (0..sets.remaining() as u32).map(SetId) {
        context.step_every(1 << 16, set.0)?;
        let row = sets.next()?;
        if row.reasons == 0 {
            continue;
        }
        let class = class_of.get(row.example.index())?;
        let found = &mut classes[class.index()];
        let bytes = row.instance_bytes.saturating_mul(u64::from(row.members).saturating_sub(1));
        let is_compared = row.reasons & (limits::MODE | limits::WORK) == 0;
        *(if is_compared { &mut found.untold } else { &mut found.uncompared }) += u64::from(row.members);
        if found.sets == 0 || bytes > largest[class.index()] {
            (found.class, found.largest) = (class, set);
            largest[class.index()] = bytes;
        }
        found.bytes = found.bytes.saturating_add(bytes);
        found.sets += 1;
    }
    drop(largest);
    classes.sort_unstable_by_key(|row| (Reverse(row.sets > 0), Reverse(row.bytes), row.class));
    let mut writer = ColumnWriter::create(scratch, POSSIBLE_CLASS)?;
    classes.iter().take_while(|row| row.sets > 0).try_for_each(|row| writer.push(*row))?;
    let rows = writer.finish()?;
    context.progress.end();
    Ok(Stats { rows, spilled_bytes: plan.spilled_bytes() })
}
