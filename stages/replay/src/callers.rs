//! The reverse call graph of each type: the functions that allocate it, their callers, and so on.
//!
//! A stack with a cell on each of its n frames makes n chains of up to n callers if all functions differ: n², whatever
//! the algorithm. So the work is limited to a multiple of the trace: callers beyond the depth that would exceed it are
//! left out ([`Written::cut`]). The limit depends on the trace alone.
//!
//! Cells are sorted by type, then by stack from the inside out ([`ranks`]), so that cells with common callers are
//! adjacent and rows follow in preorder.

use crate::calls::{Cells, NONE};
use crate::ordered::{Space, Unordered};
use crate::reverse_graph::{Batch, Stack, WHO, Writer};
use crate::stacks::EMPTY;
use crate::tree::Tree;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::filled;
use heaplake_kit::{Array, ArrayPlan, ReadAt, StageError, WriteAt};
use heaplake_schemas::scratch::Column;

/// Limit of steps from a function to its caller: per stack of a type and node of the call tree, and a constant.
const STEPS: (u64, u64) = (128, 1 << 28);
/// Limit of rows, likewise.
const ROWS: (u64, u64) = (16, 1 << 20);

/// Rows of a batch, unless a single type has more.
const BATCH: u64 = 1 << 17;

const RANKS: [Column<Ranked>; 2] = [Column::new("replay.ranks.a"), Column::new("replay.ranks.b")];
const BY_TYPE: [Column<Ranked>; 2] = [Column::new("replay.cells.a"), Column::new("replay.cells.b")];

/// A sort key and the number of its item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Ranked {
    key: u64,
    number: u64,
}

/// Totals of the written rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    /// Stacks with deeper chains.
    pub cut: u64,
    /// Bytes spilled to disk.
    pub spilled: u64,
}

/// Ranks the nodes of a tree by their functions from the inside out: the node's own function, then its caller's, and so
/// on. Nodes with the same innermost functions get adjacent ranks.
///
/// Prefix doubling: ranks by one function give those by two, these those by four, and so on, so the depth of stacks
/// counts by its logarithm.
fn ranks(tree: &mut Tree, space: Space<'_>) -> Result<Array<u32>, StageError> {
    let mut plan = ArrayPlan::new(space.budget(), space.scratch, WHO);
    let (mut ranks, mut above) = plan.make((filled(tree.count, 0_u32), filled(tree.count, EMPTY)))?;
    for at in 1..tree.count {
        space.check(at)?;
        let link = tree.links.get(at)?;
        ranks.set(at, link.function + 1)?;
        above.set(at, link.parent)?;
    }
    loop {
        let mut nodes = Unordered::new(WHO, tree.count, RANKS, space)?;
        for node in 0..tree.count {
            let (first, then) = (ranks.get(node)?, above.get(node)?);
            let key = u64::from(first) << 32 | u64::from(ranks.get(then as usize)?);
            nodes.push(Ranked { key, number: node as u64 })?;
        }
        let mut nodes = nodes.finish()?;
        let (mut rank, mut before) = (0, None);
        while let Some(Ranked { key, number }) = nodes.pop()? {
            rank += u32::from(before.is_some_and(|before| before != key));
            before = Some(key);
            ranks.set(number as usize, rank)?;
        }
        drop(nodes);
        if rank as usize + 1 == tree.count {
            return Ok(ranks);
        }
        // From the leaves up: ancestors are read before they change.
        let mut done = true;
        for node in (0..tree.count).rev() {
            space.check(node)?;
            let next = above.get(node)?;
            done &= next == EMPTY;
            let further = above.get(next as usize)?;
            above.set(node, further)?;
        }
        if done {
            return Ok(ranks);
        }
    }
}

/// A cell in the order of its type.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Place {
    number: u32,
    type_id: u32,
    /// Node of its stack.
    node: u32,
    /// Functions on its stack.
    depth: u32,
}

/// Cells in the order of types and stacks.
struct Sorted {
    places: Array<Place>,
    count: usize,
    /// Innermost functions that each cell shares with the one before, of the same type.
    shared: Array<u32>,
    spilled: u64,
}

/// The stacks of cells as nodes of the tree.
pub(crate) struct Stacks<'a> {
    /// The cells.
    pub cells: &'a Cells,
    /// The node of each stack.
    pub nodes: &'a mut Array<u32>,
    /// The tree.
    pub tree: &'a mut Tree,
}

impl Sorted {
    fn new(stacks: &mut Stacks<'_>, space: Space<'_>) -> Result<Self, StageError> {
        let (cells, tree) = (stacks.cells.all(), &mut *stacks.tree);
        let mut plan = ArrayPlan::new(space.budget(), space.scratch, WHO);
        let (mut places, shared) = plan.make((filled(cells.len(), Place::zeroed()), filled(cells.len(), 0_u32)))?;
        let mut ranks = ranks(tree, space)?;
        let mut sorted = Unordered::new(WHO, cells.len(), BY_TYPE, space)?;
        for (number, cell) in cells.iter().enumerate() {
            let rank = ranks.get(stacks.nodes.get(cell.stack as usize)? as usize)?;
            sorted.push(Ranked { key: u64::from(cell.type_id) << 32 | u64::from(rank), number: number as u64 })?;
        }
        drop(ranks);
        let mut sorted = sorted.finish()?;
        let mut depths = plan.one(filled(tree.count, 0_u32))?;
        for node in 1..tree.count {
            space.check(node)?;
            let above = depths.get(tree.links.get(node)?.parent as usize)?;
            depths.set(node, above + 1)?;
        }
        let mut count = 0;
        while let Some(Ranked { key, number }) = sorted.pop()? {
            let node = stacks.nodes.get(cells[number as usize].stack as usize)?;
            let (type_id, depth) = ((key >> 32) as u32, depths.get(node as usize)?);
            places.set(count, Place { number: number as u32, type_id, node, depth })?;
            count += 1;
        }
        Ok(Self { places, count, shared, spilled: sorted.spilled() + plan.spilled_bytes() })
    }

    /// Finds the functions shared by neighbours, and the greatest depth of chains within the limits.
    fn limit(&mut self, tree: &mut Tree, space: Space<'_>) -> Result<u32, StageError> {
        let mut deepest = 0;
        for at in 0..self.count {
            space.check(at)?;
            deepest = deepest.max(self.places.get(at)?.depth);
        }
        let mut plan = ArrayPlan::new(space.budget(), space.scratch, WHO);
        let mut changes = plan.one(filled(deepest as usize + 1, 0_i64))?;
        for at in 0..self.count {
            space.check(at)?;
            span(&mut changes, 0, self.places.get(at)?.depth)?;
        }
        let all = (self.count + tree.count) as u64;
        let most = |(each, least): (u64, u64)| (all.saturating_mul(each) + least).min(u64::from(NONE - 1));
        let steps = deepest_within(&mut changes, most(STEPS), space)?;
        changes = plan.one(filled(deepest as usize + 1, 0_i64))?;
        let mut before = None;
        for at in 0..self.count {
            space.check(at)?;
            let Place { type_id, node, depth, .. } = self.places.get(at)?;
            let depth = depth.min(steps);
            let shared = match before {
                Some((other_type, other)) if other_type == type_id => alike(tree, (node, other), depth, space)?,
                _ => 0,
            };
            before = Some((type_id, node));
            self.shared.set(at, shared)?;
            span(&mut changes, shared, depth)?;
        }
        Ok(steps.min(deepest_within(&mut changes, most(ROWS), space)?))
    }
}

/// Adds one to each depth of a range, as differences.
fn span(changes: &mut Array<i64>, from: u32, to: u32) -> Result<(), StageError> {
    if from < to {
        changes.change(from as usize, |more| *more += 1)?;
        changes.change(to as usize, |more| *more -= 1)?;
    }
    Ok(())
}

/// Returns the greatest depth whose items fit, summing up the differences.
fn deepest_within(changes: &mut Array<i64>, most: u64, space: Space<'_>) -> Result<u32, StageError> {
    let (mut now, mut sum) = (0_i64, 0_u64);
    for depth in 0..changes.count() {
        space.check(depth)?;
        now += changes.get(depth)?;
        sum = sum.saturating_add(now.unsigned_abs());
        if sum > most {
            return Ok((depth as u32).max(1));
        }
    }
    Ok(u32::MAX)
}

/// Returns how many functions two stacks share from the inside out, `whole` at most.
fn alike(tree: &mut Tree, (mut a, mut b): (u32, u32), whole: u32, space: Space<'_>) -> Result<u32, StageError> {
    for shared in 0..whole {
        space.check(shared as usize + 1)?;
        // Equal nodes have equal ancestors.
        if a == b {
            return Ok(whole);
        }
        let (of_a, of_b) = (tree.links.get(a as usize)?, tree.links.get(b as usize)?);
        if b == EMPTY || of_a.function != of_b.function {
            return Ok(shared);
        }
        (a, b) = (of_a.parent, of_b.parent);
    }
    Ok(whole)
}

/// Writes the rows of all types.
pub(crate) fn write(mut stacks: Stacks<'_>, space: Space<'_>) -> Result<Written, StageError> {
    let mut sorted = Sorted::new(&mut stacks, space)?;
    let depth = sorted.limit(stacks.tree, space)?;
    let mut written = Written { cut: 0, spilled: sorted.spilled };
    let mut writer = Writer::new(space)?;
    let mut at = 0;
    while at < sorted.count {
        let (end, rows) = batch(&mut sorted, at, depth, space)?;
        let mut batch = Batch::new(rows, depth, space)?;
        while at < end {
            space.check(at)?;
            let Place { number, type_id, node, depth: whole } = sorted.places.get(at)?;
            let (amount, shared) = (stacks.cells.amount(number as usize), sorted.shared.get(at)?);
            written.cut += if whole > depth { amount.samples.max(amount.count) } else { 0 };
            let end = Stack { node, depth: whole.min(depth), shared: shared.min(depth) };
            batch.add(stacks.tree, type_id, end, &amount)?;
            at += 1;
        }
        writer.write(batch)?;
    }
    written.spilled += writer.finish()?;
    Ok(written)
}

/// Returns the end of a batch of whole types from a cell on, and its number of rows.
fn batch(sorted: &mut Sorted, from: usize, most: u32, space: Space<'_>) -> Result<(usize, u64), StageError> {
    let (mut end, mut rows) = (from, 0);
    let (mut at, mut of_type, mut type_id) = (from, 0, None);
    while at < sorted.count {
        space.check(at)?;
        let place = sorted.places.get(at)?;
        if type_id.replace(place.type_id).is_some_and(|before| before != place.type_id) {
            (end, rows, of_type) = (at, rows + of_type, 0);
        }
        if rows > 0 && rows + of_type > BATCH {
            return Ok((end, rows));
        }
        // Each type has a row besides those of functions.
        let new = place.depth.min(most) - sorted.shared.get(at)?.min(most);
        of_type += u64::from(new) + u64::from(of_type == 0);
        at += 1;
    }
    Ok((at, rows + of_type))
}
