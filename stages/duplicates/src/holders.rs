//! Stage `holders`: dominators between sets of duplicates.
//!
//! * Computes: for each set the nearest other set such that every path from a root to a member of the former passes a
//!   member of the latter: the nearest first member of a set above its own first member in the dominator tree of the
//!   set graph.
//! * Resident memory: 8 bytes per node and 20 per set, paged where the budget does not allow it.
//! * Passes over disk: the preorder of the set graph once, the sets three times.
//! * Worst case: linear.
//! * Fails when: the budget is too small.
//! * Determinism: dominators are unique.
//! * Reference: see [`set_graph`](crate::set_graph).

use crate::first_members::{self, FirstMembers, Set};
use crate::set_graph::FOLDER;
use heaplake_kit::access::{bits_per_node, column, per_node};
use heaplake_kit::array_plan::{filled, lookup};
use heaplake_kit::{
    Array, ArrayPlan, ColumnReader, ColumnWriter, Job, ReadAt, Scratch, Stage, StageError, Stats, WriteAt, on_resident,
};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::ids::SetId;
use heaplake_schemas::scratch::{self as columns, Column};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "holders",
    when: |setting| setting.looks_into_references(),
    reads: &[
        column(columns::EQUAL_SET),
        column(columns::PREORDER_NODE).in_folder(FOLDER),
        column(columns::PREORDER_DOMINATOR).in_folder(FOLDER),
    ],
    updates: &[column(columns::SET_ROW)],
    // A set has at least two members.
    arrays: &[&[
        per_node::<SetId>(),
        bits_per_node(8 * size_of::<Set>() as u64 / 2),
        per_node::<SetId>(),
        bits_per_node(8 * size_of::<SetId>() as u64 / 2),
    ]],
    fixed: 8 << 20,
    temporary: &[bits_per_node(8 * size_of::<SetRow>() as u64 / 2)],
    passes: "preorder of the set graph once",
    run,
    ..Stage::NEW
};

const NEW_ROWS: Column<SetRow> = Column::new("set.row_held");

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let graph = scratch.within(FOLDER)?;
    let positions = ColumnReader::open(&graph, columns::PREORDER_NODE)?.remaining();
    context.progress.begin(STAGE.name, positions);
    let count = first_members::count(scratch)?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (mut set_of, mut sets, mut nearest, mut held_by) = plan.make((
        lookup(columns::EQUAL_SET),
        filled(count, Set::NONE),
        filled(positions as usize, SetId::NONE),
        filled(count, SetId::NONE),
    ))?;
    first_members::read(&mut sets, scratch)?;
    on_resident!(set_of, sets, nearest, held_by => {
        find_nearest(FirstMembers::new(set_of, sets), nearest, held_by, &graph, job)
    })?;
    update(&mut held_by, scratch)?;
    context.progress.end();
    Ok(Stats { rows: count as u64, spilled_bytes: plan.spilled_bytes() })
}

/// Finds the nearest set above each set. `nearest` is, for each preorder position, the nearest set at or above it.
fn find_nearest(
    mut first: FirstMembers<impl ReadAt<SetId>, impl ReadAt<Set>>,
    mut nearest: impl WriteAt<SetId>,
    mut held_by: impl WriteAt<SetId>,
    graph: &Scratch,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let mut order = ColumnReader::open(graph, columns::PREORDER_NODE)?;
    let mut dominators = ColumnReader::open(graph, columns::PREORDER_DOMINATOR)?;
    for position in 0..nearest.count() {
        let (node, dominator) = (order.next()?, dominators.next()?);
        let above = if position == 0 { SetId::NONE } else { nearest.get(dominator.index())? };
        let own = first.begun_by(node)?.map(|(set, _)| set);
        if let Some(set) = own {
            held_by.set(set.index(), above)?;
        }
        nearest.set(position, own.unwrap_or(above))?;
        job.context.step_every(1 << 16, position)?;
    }
    Ok(())
}

/// Writes the holders into the rows of the sets.
fn update(held_by: &mut Array<SetId>, scratch: &Scratch) -> Result<(), StageError> {
    let mut rows = ColumnReader::open(scratch, columns::SET_ROW)?;
    let mut writer = ColumnWriter::create(scratch, NEW_ROWS)?;
    for set in 0..held_by.count() {
        writer.push(SetRow { held_by: held_by.get(set)?, ..rows.next()? })?;
    }
    writer.finish()?;
    scratch.replace(columns::SET_ROW, NEW_ROWS)
}
