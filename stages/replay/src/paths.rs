//! Deaths of objects by their allocating call path.

use crate::calls::Amount;
use crate::ordered::{Space, Unordered};
use crate::replay::Replay;
use crate::stacks::EMPTY;
use crate::tree::CallTree;
use heaplake_kit::array_plan::filled;
use heaplake_kit::{Array, ArrayPlan, ColumnReader, ColumnWriter, ReadAt, StageError, WriteAt};
use heaplake_schemas::allocation_callees::CalleeRow;
use heaplake_schemas::lifetime_paths::PathRow;
use heaplake_schemas::object_lifetimes::GENERATIONS;
use heaplake_schemas::replay::{CALLEES, PATHS};
use heaplake_schemas::scratch::Column;

/// Memory account of the arrays.
const WHO: &str = "the paths whose objects died";

const ORDER: [Column<PathRow>; 2] = [Column::new("replay.paths.a"), Column::new("replay.paths.b")];

/// Writes the rows; returns the bytes spilled for them. `positions` has the row of each node among the callees, which
/// are already written, `names` the text id of each function's name.
pub(crate) fn write(
    replay: &Replay,
    calls: &mut CallTree,
    positions: &mut Array<u32>,
    names: &[u32],
    space: Space<'_>,
) -> Result<u64, StageError> {
    let mut rows = Unordered::new(WHO, calls.tree.count.saturating_mul(GENERATIONS.len()), ORDER, space)?;
    let mut spilled = 0;
    for generation in (0..GENERATIONS.len()).filter(|&generation| replay.cells.any_in(generation)) {
        let mut plan = ArrayPlan::new(space.budget(), space.scratch, WHO);
        let count = calls.tree.count;
        let (mut own, mut all) = plan.make((filled(count, Amount::default()), filled(count, Amount::default())))?;
        if !died(replay, generation, &mut calls.nodes, (&mut own, &mut all), space)? {
            continue;
        }
        calls.tree.sum(&mut all, space)?;
        for node in 1..count {
            space.check(node)?;
            let (own, all) = (own.get(node)?, all.get(node)?);
            if all.samples > 0 {
                rows.push(row(positions.get(node)?, generation, &own, &all))?;
            }
        }
        spilled += plan.spilled_bytes();
    }
    let mut rows = rows.finish()?;
    let mut callees = ColumnReader::open(space.scratch, CALLEES)?;
    let mut writer = ColumnWriter::create(space.scratch, PATHS)?;
    let mut callee: Option<CalleeRow> = None;
    while let Some(row) = rows.pop()? {
        // Each row has its callee, and both are sorted.
        let of = loop {
            match callee {
                Some(callee) if callee.node == row.node => break callee,
                _ => callee = Some(callees.next()?),
            }
        };
        let (parent, depth, function_id) = (of.parent, of.depth, of.function_id);
        writer.push(PathRow { parent, depth, function_id, function: names[function_id as usize], ..row })?;
    }
    writer.finish()?;
    Ok(spilled + rows.spilled())
}

/// Adds the deaths in a generation to the nodes of their stacks; returns whether there are any.
fn died(
    replay: &Replay,
    generation: usize,
    nodes: &mut Array<u32>,
    (own, all): (&mut Array<Amount>, &mut Array<Amount>),
    space: Space<'_>,
) -> Result<bool, StageError> {
    let mut any = false;
    for (number, cell) in replay.cells.all().iter().enumerate() {
        space.check(number)?;
        let (count, bytes) = replay.cells.deaths_in(number, generation);
        let node = nodes.get(cell.stack as usize)?;
        if count > 0 && node != EMPTY {
            let amount = Amount { samples: count, sampled_bytes: bytes, count, bytes };
            own.change(node as usize, |sum| sum.add(&amount))?;
            all.change(node as usize, |sum| sum.add(&amount))?;
            any = true;
        }
    }
    Ok(any)
}

/// Returns a row without the columns of its callee.
fn row(node: u32, generation: usize, own: &Amount, all: &Amount) -> PathRow {
    PathRow {
        node,
        generation: generation as u32,
        parent: 0,
        depth: 0,
        function_id: 0,
        function: 0,
        inclusive_count: all.count,
        inclusive_bytes: all.bytes,
        exclusive_count: own.count,
        exclusive_bytes: own.bytes,
        inclusive_samples: all.samples,
        exclusive_samples: own.samples,
    }
}
