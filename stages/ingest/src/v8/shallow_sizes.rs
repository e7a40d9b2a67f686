//! Stage `shallow sizes`: shallow sizes, with owned parts counted for their owner.
//!
//! * Computes: the backing stores, hidden parts and external string data with exactly one owner, and adds their size to
//!   it. Ownership propagates over all edges but weak ones, through owned nodes too; a node with two owners has none,
//!   and that propagates as well.
//! * Resident memory: 1.5 bits per node; 4 bytes per ownable node, and 1.2 per node and 5 per edge during propagation,
//!   then 9 per node, paged if they do not fit; 1 MiB of stack.
//! * Passes over disk: one over the edges; random reads of those of ownable nodes.
//! * Worst case: every ownable node is visited twice.
//! * Fails when: the budget is too small, or sizes exceed 64 bits.
//! * Determinism: none < one owner < many is a lattice, so the result does not depend on the order.
//! * Reference: Chrome DevTools, "shallow sizes of owned objects"; skipped there and here for snapshots without user
//!   roots, which show the heap unchanged.

use super::kinds::Kinds;
use super::names;
use super::snapshot::{DOCUMENT, Snapshot};
use heaplake_kit::access::{bits_per_node, column, document, per_edge, per_node, texts};
use heaplake_kit::array::Fault;
use heaplake_kit::array_plan::{filled, loaded, lookup, offsets};
use heaplake_kit::{
    ArrayPlan, Bitset, ColumnReader, Job, OffsetBlock, Offsets, Ranks, ReadAt, Stack, Stage, StageError, Stats,
    WriteAt, on_resident, open_all,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column, Per, STRING_HASH, STRINGS};

/// Declaration of the stage.
pub const STAGE: Stage = Stage {
    name: "shallow sizes",
    reads: &[
        document(DOCUMENT),
        texts(STRINGS),
        column(STRING_HASH),
        column(columns::NODE_KIND),
        column(columns::NODE_NAME),
        column(columns::NODE_SELF),
        column(columns::NODE_EDGE_COUNT),
        column(columns::EDGE_KIND),
        column(columns::EDGE_TO),
    ],
    writes: &[column(columns::NODE_SHALLOW)],
    arrays: &[
        &[per_node::<u32>(), Offsets::SIZE, per_edge::<u8>(), per_edge::<NodeId>()],
        &[per_node::<u64>(), per_node::<u8>()],
    ],
    least: &[bits_per_node(2)],
    fixed: 8 << 20,
    shares: true,
    temporary: &[per_node::<u32>()],
    passes: "edges once; edges of owned nodes at random",
    run,
    ..Stage::NEW
};

/// Owner of each ownable node, between the two halves of this stage.
const OWNER: Column<u32> = Column::of("v8.owner", Per::Node);

/// No owner yet.
const NOBODY: u32 = u32::MAX;
/// More than one owner.
const MANY: u32 = u32::MAX - 1;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let snapshot = &Snapshot::load(scratch)?;
    let metadata = &snapshot.metadata;
    context.progress.begin(STAGE.name, metadata.edge_count);
    let mut spilled_bytes = 0;
    if metadata.distance_seeds.first().is_some_and(|seed| seed.count > 0) {
        let ownable = ownable(snapshot, job)?;
        spilled_bytes += find_owners(snapshot, &ownable, job)?;
        spilled_bytes += hand_over(snapshot, &ownable, job)?;
        scratch.discard(OWNER);
    } else {
        scratch.copy(columns::NODE_SELF, columns::NODE_SHALLOW)?;
    }
    Ok(Stats { rows: metadata.node_count, spilled_bytes })
}

/// Returns the ownable nodes. They are few, and one bit rejects most targets of edges.
fn ownable(snapshot: &Snapshot, job: &Job<'_>) -> Result<Ranks, StageError> {
    let Job { scratch, context, .. } = *job;
    let header = &snapshot.header;
    let external_data = names::find(scratch, ["system / ExternalStringData"])?[0];
    let Kinds { hidden, array, native, .. } = Kinds::of(header);
    let (mut kinds, mut names) = open_all(scratch, (columns::NODE_KIND, columns::NODE_NAME))?;
    let mut ownable = Bitset::new(&context.budget, STAGE.name, header.node_count as usize)?;
    for node in 0..header.node_count as usize {
        let (kind, name) = (Some(kinds.next()?), names.next()?);
        if kind == hidden || kind == array || kind == native && name == external_data {
            ownable.insert(node);
        }
    }
    ownable.ranked(&context.budget, STAGE.name)
}

/// Finds the owner of each ownable node, [`NOBODY`] or [`MANY`]. Returns the bytes spilled.
fn find_owners(snapshot: &Snapshot, ownable: &Ranks, job: &Job<'_>) -> Result<u64, StageError> {
    let Job { scratch, context, .. } = *job;
    let header = &snapshot.header;
    let weak = header.edge_type("weak").map_or(u16::MAX, u16::from);
    let mut open: Stack<u32> = Stack::new(&context.budget, scratch, "owners.open")?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (mut owners, mut offsets, mut kind, mut to) = plan.make((
        filled(ownable.count(), NOBODY),
        offsets(columns::NODE_EDGE_COUNT, columns::EDGE_TO),
        lookup(columns::EDGE_KIND),
        lookup(columns::EDGE_TO),
    ))?;
    on_resident!(owners => begin(snapshot, weak, &mut Owners { ownable, owners }, &mut open, job))?;
    on_resident!(owners, offsets, kind, to => {
        spread_further(weak, &mut Owners { ownable, owners }, (offsets, kind, to), &mut open, job)
    })?;
    owners.write_to(scratch, OWNER)?;
    Ok(plan.spilled_bytes())
}

/// Owners of the ownable nodes.
struct Owners<'a, A> {
    ownable: &'a Ranks,
    /// By rank of the node.
    owners: A,
}

impl<A: WriteAt<u32>> Owners<'_, A> {
    /// Adds an owner to `target`; returns whether that changed its state.
    #[inline]
    fn spread(&mut self, owner: u32, target: u32) -> Result<bool, Fault> {
        let Some(at) = self.ownable.rank(target as usize) else { return Ok(false) };
        let known = self.owners.get(at)?;
        if known == owner || known == MANY {
            return Ok(false);
        }
        self.owners.set(at, if known == NOBODY { owner } else { MANY })?;
        Ok(true)
    }
}

/// Propagates from the nodes that cannot be owned. They always own themselves, so their edges are read only once, in
/// order.
fn begin(
    snapshot: &Snapshot,
    weak: u16,
    owners: &mut Owners<'_, impl WriteAt<u32>>,
    open: &mut Stack<u32>,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let (mut counts, mut edge_kind, mut edge_to) =
        open_all(scratch, (columns::NODE_EDGE_COUNT, columns::EDGE_KIND, columns::EDGE_TO))?;
    let mut edges = 0;
    for node in 0..snapshot.header.node_count as u32 {
        let count = u64::from(counts.next()?);
        if owners.ownable.rank(node as usize).is_none() {
            for _ in 0..count {
                let (kind, to) = (u16::from(edge_kind.next()?), edge_to.next()?);
                if kind != weak && owners.spread(node, to.0)? {
                    open.push(to.0)?;
                }
            }
        } else {
            edge_kind.skip(count)?;
            edge_to.skip(count)?;
        }
        edges += count;
        if edges >= 1 << 18 {
            context.step(std::mem::take(&mut edges))?;
        }
    }
    Ok(())
}

/// Propagates owners from changed nodes until nothing changes.
fn spread_further<O>(
    weak: u16,
    owners: &mut Owners<'_, impl WriteAt<u32>>,
    (mut offsets, mut edge_kind, mut edge_to): (Offsets<O>, impl ReadAt<u8>, impl ReadAt<NodeId>),
    open: &mut Stack<u32>,
    job: &Job<'_>,
) -> Result<(), StageError>
where
    O: ReadAt<OffsetBlock>,
{
    let mut steps = 0u64;
    while let Some(node) = open.pop()? {
        let Some(at) = owners.ownable.rank(node as usize) else { continue };
        let owner = owners.owners.get(at)?;
        for edge in offsets.range(node as usize)? {
            if u16::from(edge_kind.get(edge)?) == weak {
                continue;
            }
            let target = edge_to.get(edge)?.0;
            if owners.spread(owner, target)? {
                open.push(target)?;
            }
        }
        steps += 1;
        job.context.check_every(1 << 16, steps)?;
    }
    Ok(())
}

/// Moves the sizes of owned nodes to their owner, unless that is synthetic. Returns the bytes spilled.
fn hand_over(snapshot: &Snapshot, ownable: &Ranks, job: &Job<'_>) -> Result<u64, StageError> {
    let header = &snapshot.header;
    let synthetic = header.node_type("synthetic");
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (mut sizes, mut kinds) = plan.make((loaded(columns::NODE_SELF), lookup(columns::NODE_KIND)))?;
    let mut owners = ColumnReader::open(job.scratch, OWNER)?;
    for node in 0..sizes.count() {
        if ownable.rank(node).is_none() {
            continue;
        }
        let owner = owners.next()?;
        let is_owned = owner != NOBODY && owner != MANY;
        if !is_owned || Some(kinds.get(owner as usize)?) == synthetic || u64::from(owner) == header.root {
            continue;
        }
        let size = sizes.change(node, std::mem::take)?;
        let Some(sum) = sizes.get(owner as usize)?.checked_add(size) else {
            return Err(StageError::Overflow("the shallow size of a node"));
        };
        sizes.set(owner as usize, sum)?;
    }
    sizes.write_to(job.scratch, columns::NODE_SHALLOW)?;
    Ok(plan.spilled_bytes())
}
