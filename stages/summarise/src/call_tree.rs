//! Stage `call tree`: allocations by stack, and their live part, of snapshots with allocation stacks.
//!
//! * Computes: the rows of `allocation_callees` and `allocation_functions` from the trace tree of the input, with the
//!   live objects of each stack, and the original places of functions if there are source maps; for each row of the
//!   trace tree its node in `allocation_callees`. Without a tree, no rows.
//! * Resident memory: 88 bytes per node of the tree and 77 per function, paged where the budget does not allow it; 112
//!   per function on the tree; with source maps 640 more, and 8 times the largest map.
//! * Passes over disk: one over the tree, one over stacks and sizes of nodes.
//! * Worst case: sorting siblings.
//! * Fails when: the rows of functions do not fit into the budget, or a source map has changed or is damaged.
//! * Determinism: one thread; siblings by bytes, function, place in the input.
//! * Reference: Chrome DevTools, `AllocationProfile`: these are its functions and callers.

use crate::call_functions::{Amount, ByFunction, NONE};
use bytemuck::{Pod, Zeroable};
use heaplake_kit::access::{column, texts};
use heaplake_kit::array_plan::{filled, lookup};
use heaplake_kit::sorter::Sorter;
use heaplake_kit::{
    Array, ArrayPlan, ColumnReader, ColumnWriter, Job, Lookup, ReadAt, Stage, StageError, Stats, WriteAt,
};
use heaplake_schemas::allocation_callees::CalleeRow;
use heaplake_schemas::options::TableName;
use heaplake_schemas::replay::{CALLEES, FUNCTIONS, STRINGS as TEXTS};
use heaplake_schemas::scratch::{self as columns, Column, STRINGS};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: NAME,
    version: 3,
    when: |setting| {
        let tables = [
            TableName::AllocationTypes,
            TableName::AllocationFunctions,
            TableName::AllocationCallees,
            TableName::LiveAllocations,
        ];
        tables.into_iter().any(|table| setting.has(table))
    },
    reads: &[
        texts(STRINGS),
        column(columns::NODE_CALL),
        column(columns::NODE_SHALLOW),
        column(columns::TRACE_ID).if_any(),
        column(columns::TRACE_PARENT).if_any(),
        column(columns::TRACE_FUNCTION).if_any(),
        column(columns::TRACE_COUNT).if_any(),
        column(columns::TRACE_SIZE).if_any(),
        column(columns::FUNCTION_NAME).if_any(),
        column(columns::FUNCTION_SCRIPT_NAME).if_any(),
        column(columns::FUNCTION_SCRIPT).if_any(),
        column(columns::FUNCTION_LINE).if_any(),
        column(columns::FUNCTION_COLUMN).if_any(),
    ],
    writes: &[
        column(CALLEES).if_any(),
        column(FUNCTIONS).if_any(),
        texts(TEXTS).if_any(),
        column(columns::TRACE_PLACE).if_any(),
    ],
    fixed: 12 << 20,
    passes: "stacks and sizes of nodes once",
    run,
    ..Stage::NEW
};

const NAME: &str = "call tree";

/// Siblings, while they are sorted.
const ORDER: [Column<Sibling>; 2] = [Column::new("call_tree.order"), Column::new("call_tree.order.2")];

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    if !scratch.has(columns::TRACE_PARENT) {
        return Ok(Stats::default());
    }
    let rows = ColumnReader::open(scratch, columns::TRACE_PARENT)?.remaining() as usize;
    if rows == 0 {
        return Ok(Stats::default());
    }
    context.progress.begin(NAME, ColumnReader::open(scratch, columns::NODE_CALL)?.remaining());
    let mut plan = ArrayPlan::of(job, NAME);
    let (own, all, id, parent, function) = plan.make((
        filled(rows, Amount::zeroed()),
        filled(rows, Amount::zeroed()),
        lookup(columns::TRACE_ID),
        lookup(columns::TRACE_PARENT),
        lookup(columns::TRACE_FUNCTION),
    ))?;
    let (first, next, place) = plan.make((filled(rows, NONE), filled(rows, NONE), filled(rows, NONE)))?;
    let mut tree = Tree { own, all, id, parent, function, first, next, root: NONE, rows };
    tree.read(job)?;
    tree.sum(job)?;
    tree.order(job)?;
    let functions = match scratch.has(columns::FUNCTION_NAME) {
        true => ColumnReader::open(scratch, columns::FUNCTION_NAME)?.remaining() as usize,
        false => 0,
    };
    let mut sums = ByFunction::new(functions, &mut plan)?;
    tree.walk(place, &mut sums, job)?;
    drop(tree);
    sums.write(job)?;
    context.progress.end();
    Ok(Stats { rows: rows as u64, spilled_bytes: plan.spilled_bytes() })
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Sibling {
    parent: u64,
    /// Its bytes with all bits inverted: the largest comes first.
    bytes: u64,
    /// Function and row.
    last: u64,
}

/// The trace tree, by row of the input. A parent comes before its children.
struct Tree {
    /// Amounts of each node alone, and with all nodes below.
    own: Array<Amount>,
    all: Array<Amount>,
    id: Lookup<u32>,
    parent: Lookup<u32>,
    function: Lookup<u32>,
    /// The first child and the next sibling of each node.
    first: Array<u32>,
    next: Array<u32>,
    /// The first node without a parent.
    root: u32,
    rows: usize,
}

impl Tree {
    /// Reads the amounts of each node alone.
    fn read(&mut self, job: &Job<'_>) -> Result<(), StageError> {
        let Job { scratch, context, .. } = *job;
        let mut counts = ColumnReader::open(scratch, columns::TRACE_COUNT)?;
        let mut sizes = ColumnReader::open(scratch, columns::TRACE_SIZE)?;
        for row in 0..self.rows {
            let amount = Amount { count: counts.next()?, bytes: sizes.next()?, ..Amount::zeroed() };
            self.own.set(row, amount)?;
        }
        let mut calls = ColumnReader::open(scratch, columns::NODE_CALL)?;
        let mut sizes = ColumnReader::open(scratch, columns::NODE_SHALLOW)?;
        while calls.remaining() > 0 {
            let (call, bytes) = (calls.next()?, sizes.next()?);
            if (call as usize) < self.rows {
                let alive = Amount { live_count: 1, live_bytes: bytes, ..Amount::zeroed() };
                self.own.change(call as usize, |amount| amount.add(&alive))?;
            }
            context.step_every(1 << 16, calls.remaining())?;
        }
        Ok(())
    }

    /// Sums the amounts of each node with all nodes below.
    fn sum(&mut self, job: &Job<'_>) -> Result<(), StageError> {
        for row in (0..self.rows).rev() {
            job.context.check_every(1 << 12, row)?;
            let own = self.own.get(row)?;
            let amount = self.all.change(row, |all| {
                all.add(&own);
                *all
            })?;
            let parent = self.parent.get(row)?;
            if parent != NONE {
                self.all.change(parent as usize, |all| all.add(&amount))?;
            }
        }
        Ok(())
    }

    /// Links siblings: by bytes descending, then by function, then as in the input.
    fn order(&mut self, job: &Job<'_>) -> Result<(), StageError> {
        let mut sorter = Sorter::new("call tree: siblings", self.rows, ORDER, &job.context.budget, job.scratch)?;
        for row in 0..self.rows {
            job.context.check_every(1 << 12, row)?;
            let last = u64::from(self.function.get(row)?) << 32 | row as u64;
            let bytes = !self.all.get(row)?.bytes;
            sorter.push(Sibling { parent: self.parent.get(row)?.into(), bytes, last })?;
        }
        let mut sorted = sorter.finish()?;
        let mut before = None;
        while let Some(Sibling { parent, last, .. }) = sorted.pop()? {
            let (parent, row) = (parent as u32, last as u32);
            match before {
                Some((above, sibling)) if above == parent => self.next.set(sibling, row)?,
                _ if parent == NONE => self.root = row,
                _ => self.first.set(parent as usize, row)?,
            }
            before = Some((parent, row as usize));
        }
        Ok(())
    }

    /// Writes the nodes in preorder and the position of each, and adds up functions.
    fn walk(&mut self, mut place: Array<u32>, sums: &mut ByFunction, job: &Job<'_>) -> Result<(), StageError> {
        let mut writer = ColumnWriter::create(job.scratch, CALLEES)?;
        let (mut at, mut depth, mut node) = (self.root, 0, 0);
        while at != NONE {
            job.context.check_every(1 << 12, node)?;
            let row = at as usize;
            let (parent, function) = (self.parent.get(row)?, self.function.get(row)?);
            let (own, all) = (self.own.get(row)?, self.all.get(row)?);
            place.set(row, node)?;
            let parent = if parent == NONE { NONE } else { place.get(parent as usize)? };
            let trace_node = self.id.get(row)?;
            let row_of = CalleeRow { node, parent, depth, function_id: function, trace_node, ..NOTHING };
            writer.push(callee(row_of, own, all))?;
            node += 1;
            sums.enter(function, &own, &all)?;
            (at, depth) = self.after(row, depth, sums)?;
        }
        writer.finish()?;
        place.write_to(job.scratch, columns::TRACE_PLACE)
    }

    /// Returns the next node in preorder, and its depth; [`NONE`] after the last.
    fn after(&mut self, row: usize, depth: u32, sums: &mut ByFunction) -> Result<(u32, u32), StageError> {
        let first = self.first.get(row)?;
        if first != NONE {
            return Ok((first, depth + 1));
        }
        // Leave all nodes that end here; continue with the next sibling of the last one.
        let (mut from, mut depth) = (row, depth);
        loop {
            sums.leave(self.function.get(from)?)?;
            let next = self.next.get(from)?;
            let parent = self.parent.get(from)?;
            if next != NONE || parent == NONE {
                return Ok((next, depth));
            }
            (from, depth) = (parent as usize, depth - 1);
        }
    }
}

/// A row without amounts.
const NOTHING: CalleeRow = CalleeRow {
    node: NONE,
    parent: NONE,
    depth: 0,
    function_id: NONE,
    trace_node: NONE,
    padding: 0,
    inclusive_samples: 0,
    inclusive_bytes: 0,
    exclusive_samples: 0,
    exclusive_bytes: 0,
    inclusive_count: 0,
    exclusive_count: 0,
    inclusive_live_count: 0,
    inclusive_live_bytes: 0,
    exclusive_live_count: 0,
    exclusive_live_bytes: 0,
};

/// Returns a row with its amounts. Each allocation was counted, so each is a sample.
fn callee(row: CalleeRow, own: Amount, all: Amount) -> CalleeRow {
    CalleeRow {
        inclusive_samples: all.count,
        inclusive_bytes: all.bytes,
        exclusive_samples: own.count,
        exclusive_bytes: own.bytes,
        inclusive_count: all.count,
        exclusive_count: own.count,
        inclusive_live_count: all.live_count,
        inclusive_live_bytes: all.live_bytes,
        exclusive_live_count: own.live_count,
        exclusive_live_bytes: own.live_bytes,
        ..row
    }
}
