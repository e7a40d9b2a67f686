//! The reverse call graph of each type: the functions that allocate it, their callers, and so on.
//!
//! It is a trie of the stacks from the inside out, below a root for each type. A level is made from the one before: the
//! stacks that reach it are sorted by node and next function, so those with the same callers are adjacent.
//!
//! A stack with a cell on each of its n frames makes n chains of up to n callers if all functions differ: n², whatever
//! the algorithm. So the work is limited to a multiple of the trace: callers beyond the depth that would exceed it are
//! left out ([`Written::cut`]). The limit depends on the trace alone.

use crate::calls::{Amount, Cells, NONE};
use crate::ordered::{Space, Unordered};
use crate::stacks::EMPTY;
use crate::tree::{CallTree, Children, Link, Place, ROOT, Step, Tree};
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::{filled, loaded};
use heaplake_kit::{Array, ArrayPlan, ColumnWriter, ReadAt, StageError, WriteAt};
use heaplake_schemas::allocation_callers::CallerRow;
use heaplake_schemas::replay::CALLERS;
use heaplake_schemas::scratch::Column;

/// Memory account of the arrays.
const WHO: &str = "the callers of all types";

/// Limit of steps from a function to its caller: per stack of a type and node of the call tree, and a constant.
const STEPS: (u64, u64) = (128, 1 << 28);
/// Limit of rows, likewise.
const ROWS: (u64, u64) = (16, 1 << 20);

const LINKS: Column<Link> = Column::new("replay.callers");
const LEVELS: [[Column<Suffix>; 2]; 2] = [
    [Column::new("replay.callers.a"), Column::new("replay.callers.b")],
    [Column::new("replay.callers.c"), Column::new("replay.callers.d")],
];

/// The outer part of a cell's stack, which goes below a node of the reverse graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Suffix {
    /// The node.
    node: u32,
    /// Its innermost function; the type of a whole stack.
    function: u32,
    cell: u32,
    /// Node of the call tree with the caller; [`EMPTY`] if it has none.
    caller: u32,
}

/// Totals of the written rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    /// Stacks with deeper chains.
    pub cut: u64,
    /// Bytes spilled to disk.
    pub spilled: u64,
}

/// The trie of all stacks.
struct Reverse {
    tree: Tree,
    /// Nodes of types, which follow the root.
    types: usize,
    /// Node of each cell; beyond the tree if its chain is cut.
    ends: Array<u32>,
    spilled: u64,
}

impl Reverse {
    fn new(cells: &Cells, calls: &mut CallTree, space: Space<'_>) -> Result<Self, StageError> {
        let cells = cells.all();
        let all = (cells.len() + calls.tree.count) as u64;
        let most = |(each, least): (u64, u64)| (all.saturating_mul(each) + least).min(u64::from(NONE - 1));
        let mut plan = ArrayPlan::new(space.budget(), space.scratch, WHO);
        let mut ends = plan.one(filled(cells.len(), EMPTY))?;
        let mut level = Unordered::new(WHO, cells.len(), LEVELS[0], space)?;
        for (cell, of) in (0..).zip(cells) {
            let caller = calls.nodes.get(of.stack as usize)?;
            level.push(Suffix { node: EMPTY, function: of.type_id, cell, caller })?;
        }
        let mut links = ColumnWriter::create(space.scratch, LINKS)?;
        links.push(ROOT)?;
        let (mut count, mut types, mut steps, mut spilled) = (1, 0, 0, 0);
        for depth in 0_usize.. {
            let reaching = level.len();
            let mut sorted = level.finish()?;
            level = Unordered::new(WHO, reaching, LEVELS[(depth + 1) % 2], space)?;
            let mut last = ROOT;
            while let Some(Suffix { node, function, cell, caller }) = sorted.pop()? {
                let link = Link { parent: node, function };
                if link != last {
                    links.push(link)?;
                    last = link;
                }
                let node = u32::try_from(links.len() - 1).map_err(|_| StageError::Overflow("the number of callers"))?;
                ends.set(cell as usize, node)?;
                if caller != EMPTY {
                    let Link { parent, function } = calls.tree.links.get(caller as usize)?;
                    level.push(Suffix { node, function, cell, caller: parent })?;
                }
            }
            spilled += sorted.spilled();
            if depth == 0 {
                types = links.len() as usize - 1;
            } else {
                steps += reaching as u64;
                let rows = links.len() - 1 - types as u64;
                if depth > 1 && (steps > most(STEPS) || rows > most(ROWS)) {
                    break;
                }
            }
            count = links.len() as usize;
            if level.len() == 0 {
                break;
            }
        }
        drop(level);
        links.finish()?;
        let links = plan.one(loaded(LINKS))?;
        space.scratch.discard(LINKS);
        Ok(Self { tree: Tree { links, count }, types, ends, spilled: spilled + plan.spilled_bytes() })
    }
}

/// Writes the rows of all types, in preorder: types by number, callers by bytes, then by function.
pub(crate) fn write(cells: &Cells, calls: &mut CallTree, space: Space<'_>) -> Result<Written, StageError> {
    let Reverse { mut tree, types, mut ends, spilled } = Reverse::new(cells, calls, space)?;
    let mut plan = ArrayPlan::new(space.budget(), space.scratch, WHO);
    let (mut amounts, mut positions) = plan.make((filled(tree.count, Amount::default()), filled(tree.count, NONE)))?;
    let mut cut = 0;
    for cell in 0..cells.all().len() {
        space.check(cell)?;
        let (amount, mut end) = (cells.amount(cell), ends.get(cell)? as usize);
        if end >= tree.count {
            end = tree.links.get(end)?.parent as usize;
            cut += amount.samples.max(amount.count);
        }
        amounts.change(end, |sum| sum.add(&amount))?;
    }
    drop(ends);
    tree.sum(&mut amounts, space)?;
    let weight = |node: usize| Ok(Some(if node > types { amounts.get(node)?.bytes } else { 0 }));
    let children = Children::new(&mut tree, weight, space)?;
    let mut writer = ColumnWriter::create(space.scratch, CALLERS)?;
    let mut type_id = NONE;
    children.walk(&mut tree, space, |step| {
        let Step::Enter(Place { node, link, depth }) = step else { return Ok(()) };
        if link.parent == EMPTY {
            type_id = link.function;
            return Ok(());
        }
        let amount = amounts.get(node as usize)?;
        positions.set(node as usize, writer.len() as u32)?;
        writer.push(CallerRow {
            parent: positions.get(link.parent as usize)?,
            depth: depth - 1,
            type_id,
            function_id: link.function,
            samples: amount.samples,
            sampled_bytes: amount.sampled_bytes,
            estimated_bytes: amount.bytes,
            estimated_count: amount.count,
        })
    })?;
    writer.finish()?;
    Ok(Written { cut, spilled: spilled + plan.spilled_bytes() })
}
