//! Stage `owner rows`: the memory of each owner.
//!
//! * Computes: for every object its own owner, by the user's rules or by the package of its code ([`mod@rules`]), and
//!   the one that it counts for: its own or that of its nearest dominator with a stronger one; per owner the values of [`heaplake_schemas::owners`]: its own objects; its share along the dominator tree; the bytes
//!   freed with its objects ([`freed`]); the allocations of its functions. Synthetic nodes have no owner; garbage is a
//!   row of its own.
//! * Resident memory: 8 bytes per node (owner, and beneficiary of each position) for the tree; for freed bytes a byte
//!   per node, or 8 with more than [`chosen::FEW`] owners, and only if a search follows, 6.2 bytes per node and 4 per
//!   essential edge; paged where the budget does not allow it; 2 MiB of stacks; 4 bytes per node of the trace tree;
//!   some 200 bytes per owner, and 4 per class or 40 per pair of class and origin.
//! * Passes over disk: two over the node columns, one over the tree; at most [`PASSES`] times one to ten over the
//!   retainers and the tree and one over node columns; for each search one over degrees and owners, and random reads of
//!   essential edges.
//! * Worst case: linear, except that a node is visited again for each owner that turns out not to retain it alone.
//! * Fails when: the budget is too small, or a sum exceeds 64 bits.
//! * Determinism: one thread; the sets of avoidable owners only grow, so their order does not matter.
//! * Reference: none needed; tests compare with a search for each owner.

mod chosen;
mod freed;
#[cfg(test)]
mod properties;
pub(crate) mod rules;
mod tallies;

use crate::class_rows::counts;
use freed::Effort;
use heaplake_kit::access::{column, document, per_edge, per_node, texts};
use heaplake_kit::array_plan::{filled, lookup};
use heaplake_kit::column::BLOCK;
use heaplake_kit::{
    ArrayPlan, ColumnReader, ColumnWriter, Job, Offsets, ReadAt, Scratch, Setting, Stage, StageError, Stats, WriteAt,
    on_resident,
};
use heaplake_schemas::ids::{NodeId, Preorder};
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch::{self as columns, Column, Metadata, OWNER_NAMES, Per, STRINGS, documents};
use rules::{Code, Rules};
use std::cmp::Reverse;
use tallies::{Tallies, add};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: NAME,
    version: 2,
    when: |setting| has_owners(setting) || setting.has(TableName::Nodes),
    reads: &[
        document(documents::METADATA),
        texts(STRINGS),
        column(columns::NODE_KIND),
        column(columns::NODE_CLASS),
        column(columns::NODE_SHALLOW),
        column(columns::NODE_PREORDER),
        column(columns::PREORDER_NODE),
        column(columns::PREORDER_DOMINATOR),
        column(columns::ESSENTIAL_DEGREE).when(has_owners),
        column(columns::ESSENTIAL_TO).when(has_owners),
        column(columns::RETAINERS_DEGREE).when(has_owners),
        column(columns::RETAINERS_FROM).when(has_owners),
        column(columns::CLASS_NAME),
        column(columns::CLASS_ORIGIN).if_any(),
        column(columns::ORIGIN),
        column(columns::ORIGIN_NODE),
        column(columns::ORIGIN_OF_NODE),
        column(columns::FUNCTION_ORIGIN).if_any(),
        column(columns::TRACE_PARENT).if_any(),
        column(columns::TRACE_FUNCTION).if_any(),
        column(columns::TRACE_SIZE).if_any(),
    ],
    writes: &[
        column(columns::OWNER_ROW),
        texts(OWNER_NAMES),
        column(columns::NODE_OWNER),
        column(columns::OWNER_ROW_AT),
    ],
    arrays: &[
        &[per_node::<Code>(), per_node::<Code>()],
        &[per_node::<u64>(), Offsets::SIZE, per_edge::<NodeId>(), per_node::<Preorder>(), per_node::<u8>()],
    ],
    fixed: 10 << 20,
    temporary: &[per_node::<Code>(), per_node::<Code>()],
    passes: "node columns, dominator tree, retainers some times",
    run,
    ..Stage::NEW
};

const NAME: &str = "owner rows";

/// Whether the table of owners is wanted. The table of nodes alone does not need the bytes freed with each owner.
fn has_owners(setting: &Setting<'_>) -> bool {
    setting.has(TableName::Owners)
}

/// Maximum number of passes of [`chosen::AT_ONCE`] owners each, the largest owners first.
const PASSES: usize = 4;

/// Prefetch distance in nodes.
const AHEAD: usize = 16;

/// Own owner of each node, between the parts of this stage.
const OWN_OWNER: Column<Code> = Column::of("owner.of_node", Per::Node);

/// [`OWN_OWNER`] by position in the preorder.
const OWNER_AT: Column<Code> = Column::of("owner.by_position", Per::Node);

/// Writes the rows of owners, by retained size, largest first, equals by name.
fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    run_with(Effort::NORMAL, job)
}

/// Runs the stage with this effort.
fn run_with(effort: Effort, job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let metadata = &job.metadata()?;
    context.progress.begin(NAME, 3 * metadata.node_count);
    let mut rules = Rules::new(job.analysis().owners.as_ref(), scratch, context)?;
    let mut tallies = Tallies::new(&context.budget)?;
    own(metadata, &mut rules, &mut tallies, job)?;
    let mut spilled_bytes = attribute(metadata, &mut tallies, job)?;
    spilled_bytes += allocated(&mut rules, &mut tallies, job)?;
    let names = rules.into_names();
    tallies.grow(names.len())?;
    if job.analysis().tables.has(TableName::Owners) {
        spilled_bytes += free(&names, &mut tallies, effort, job)?;
    }
    scratch.discard(OWNER_AT);
    let rows = tallies.write(&names, scratch)?;
    context.progress.end();
    Ok(Stats { rows, spilled_bytes })
}

/// Finds the bytes freed with each of the largest owners. Returns the spilled bytes.
fn free(names: &[String], tallies: &mut Tallies, effort: Effort, job: &Job<'_>) -> Result<u64, StageError> {
    let mut spilled_bytes = 0;
    let mut order = job.context.budget.growing("owners: order");
    (0..names.len() as u32).try_for_each(|owner| order.push(owner))?;
    order.sort_unstable_by_key(|&owner| (Reverse(tallies.owner(owner).retained_bytes), &names[owner as usize]));
    for owners in order.chunks(chosen::AT_ONCE).take(PASSES) {
        let (bytes, spilled) = freed::find(owners, OWNER_AT, effort, NAME, job)?;
        spilled_bytes += spilled;
        for (&owner, mut bytes) in owners.iter().zip(bytes) {
            // Unreached nodes under the root are freed with their owner.
            add(&mut bytes, *tallies.apart(owner))?;
            tallies.owner(owner).freed_bytes = bytes;
        }
    }
    Ok(spilled_bytes)
}

/// Finds each node's own owner, and adds up each owner's own objects.
fn own(metadata: &Metadata, rules: &mut Rules, tallies: &mut Tallies, job: &Job<'_>) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let mut kind = ColumnReader::open(scratch, columns::NODE_KIND)?;
    let mut class = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut shallow = ColumnReader::open(scratch, columns::NODE_SHALLOW)?;
    let mut number = ColumnReader::open(scratch, columns::NODE_PREORDER)?;
    let mut origins = Origins::open(scratch)?;
    let mut column = ColumnWriter::create(scratch, OWN_OWNER)?;
    let synthetic: [bool; 256] = std::array::from_fn(|kind| metadata.synthetic_kinds.contains(&(kind as u8)));
    for first in (0..metadata.node_count as usize).step_by(BLOCK) {
        let count = BLOCK.min(metadata.node_count as usize - first);
        let (kinds, classes) = (kind.block(count)?, class.block(count)?);
        let (sizes, numbers) = (shallow.block(count)?, number.block(count)?);
        for (at, ((&kind, &class), (&size, number))) in
            kinds.iter().zip(classes).zip(sizes.iter().zip(numbers)).enumerate()
        {
            let node = (first + at) as u32;
            let (origin, reached) = (origins.at(node)?, !number.is_none());
            let garbage = metadata.keeps_garbage && !reached;
            let nobody = garbage || synthetic[usize::from(kind)];
            let code = if nobody { Code::NOBODY } else { rules.owner(class, origin)? };
            tallies.grow(rules.count())?;
            column.push(code)?;
            let row = if garbage { tallies.garbage() } else { tallies.of(code) };
            row.count += u64::from(counts(metadata, node, size));
            add(&mut row.shallow_bytes, size)?;
            if !reached {
                // Garbage is counted apart. Other unreached nodes are separate children of the root.
                add(&mut row.retained_bytes, size)?;
                code.owner().map_or(Ok(()), |owner| add(tallies.apart(owner), size))?;
            }
        }
        context.step(count as u64)?;
    }
    column.finish().map(drop)
}

/// Finds the owner that each node counts for, and sums up their sizes. Returns the spilled bytes.
fn attribute(metadata: &Metadata, tallies: &mut Tallies, job: &Job<'_>) -> Result<u64, StageError> {
    let reached = ColumnReader::open(job.scratch, columns::PREORDER_NODE)?.remaining() as usize;
    let mut plan = ArrayPlan::of(job, NAME);
    let (mut by_position, mut own) = plan.make((filled(reached, Code::NOBODY), lookup(OWN_OWNER)))?;
    on_resident!(by_position, own => descend(by_position, own, job))?;
    drop(own);
    on_resident!(by_position => add_up(by_position, tallies, metadata, job))?;
    job.scratch.discard(OWN_OWNER);
    Ok(plan.spilled_bytes())
}

/// Finds the owner for which each position counts: its own, or the one of its dominator.
fn descend(mut by_position: impl WriteAt<Code>, mut own: impl ReadAt<Code>, job: &Job<'_>) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let mut order = ColumnReader::<NodeId>::open(scratch, columns::PREORDER_NODE)?;
    let mut dominators = ColumnReader::<Preorder>::open(scratch, columns::PREORDER_DOMINATOR)?;
    let mut owners = ColumnWriter::create(scratch, OWNER_AT)?;
    // Dominators come first.
    for first in (0..by_position.count()).step_by(BLOCK) {
        let count = BLOCK.min(by_position.count() - first);
        let (nodes, dominators) = (order.block(count)?, dominators.block(count)?);
        for (at, (node, dominator)) in nodes.iter().zip(dominators).enumerate() {
            if let Some(soon) = nodes.get(at + AHEAD) {
                own.prefetch(soon.index());
            }
            let own = own.get(node.index())?;
            owners.push(own)?;
            let code = own.under(by_position.get(dominator.index())?);
            by_position.set(first + at, code)?;
        }
        context.step(count as u64)?;
    }
    owners.finish().map(drop)
}

/// Writes the owner that each node counts for, and adds the sizes of all reached nodes to theirs.
fn add_up(
    mut by_position: impl ReadAt<Code>,
    tallies: &mut Tallies,
    metadata: &Metadata,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let mut positions = ColumnReader::open(job.scratch, columns::NODE_PREORDER)?;
    let mut sizes = ColumnReader::open(job.scratch, columns::NODE_SHALLOW)?;
    let mut own = ColumnReader::open(job.scratch, OWN_OWNER)?;
    let mut counted = ColumnWriter::create(job.scratch, columns::NODE_OWNER)?;
    while positions.remaining() > 0 {
        let count = positions.remaining().min(BLOCK as u64) as usize;
        let (positions, sizes, own) = (positions.block(count)?, sizes.block(count)?, own.block(count)?);
        for (at, ((position, &size), &own)) in positions.iter().zip(sizes).zip(own).enumerate() {
            if let Some(soon) = positions.get(at + AHEAD) {
                by_position.prefetch(soon.index());
            }
            let place = if !position.is_none() {
                let code = by_position.get(position.index())?;
                add(&mut tallies.of(code).retained_bytes, size)?;
                tallies::place(code)
            } else if metadata.keeps_garbage {
                tallies::GARBAGE
            } else {
                tallies::place(own)
            };
            counted.push(place as u32)?;
        }
        job.context.check()?;
    }
    counted.finish().map(drop)
}

/// Sums up the allocations of the functions of each owner. Returns the spilled bytes.
fn allocated(rules: &mut Rules, tallies: &mut Tallies, job: &Job<'_>) -> Result<u64, StageError> {
    let Job { scratch, context, .. } = *job;
    if !scratch.has(columns::FUNCTION_ORIGIN) || !scratch.has(columns::TRACE_PARENT) {
        return Ok(0);
    }
    let rows = ColumnReader::open(scratch, columns::TRACE_PARENT)?.remaining() as usize;
    if rows == 0 {
        return Ok(0);
    }
    let mut functions = ColumnReader::open(scratch, columns::FUNCTION_ORIGIN)?;
    let mut of_function = context.budget.growing("owners: functions");
    while functions.remaining() > 0 {
        of_function.push(rules.owner_of_code(functions.next()?)?)?;
    }
    tallies.grow(rules.count())?;
    tallies.count_allocations();
    let mut plan = ArrayPlan::of(job, NAME);
    let mut owner = plan.one(filled(rows, Code::NOBODY))?;
    let mut parents = ColumnReader::open(scratch, columns::TRACE_PARENT)?;
    let mut called = ColumnReader::open(scratch, columns::TRACE_FUNCTION)?;
    let mut sizes = ColumnReader::open(scratch, columns::TRACE_SIZE)?;
    // Callers come first.
    for row in 0..rows {
        let (parent, function, size) = (parents.next()?, called.next()?, sizes.next()?);
        let above = if parent == u32::MAX { Code::NOBODY } else { owner.get(parent as usize)? };
        let code = of_function[..].get(function as usize).copied().unwrap_or(Code::NOBODY).under(above);
        owner.set(row, code)?;
        add(&mut tallies.of(code).allocated_bytes, size)?;
        context.check_every(1 << 12, row)?;
    }
    Ok(plan.spilled_bytes())
}

/// Origins of nodes, in order.
struct Origins {
    node: ColumnReader<NodeId>,
    origin: ColumnReader<u32>,
    next: Option<(u32, u32)>,
}

impl Origins {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        let mut origins = Self {
            node: ColumnReader::open(scratch, columns::ORIGIN_NODE)?,
            origin: ColumnReader::open(scratch, columns::ORIGIN_OF_NODE)?,
            next: None,
        };
        origins.advance()?;
        Ok(origins)
    }

    fn advance(&mut self) -> Result<(), StageError> {
        let more = self.node.remaining() > 0;
        self.next = if more { Some((self.node.next()?.0, self.origin.next()?)) } else { None };
        Ok(())
    }

    /// Returns the own origin of a node, if any; nodes must ascend.
    #[inline]
    fn at(&mut self, node: u32) -> Result<Option<u32>, StageError> {
        match self.next {
            Some((next, origin)) if next == node => {
                self.advance()?;
                Ok(Some(origin))
            }
            _ => Ok(None),
        }
    }
}
