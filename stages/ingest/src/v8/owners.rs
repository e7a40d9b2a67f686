//! Stage `owners`: shallow sizes, with the parts of an object counted where people look for them.
//!
//! * Computes: the backing stores, hidden parts and external string data that exactly one object owns, and hands their
//!   size to it. Owners spread over all edges but weak ones, through owned nodes too; a node with two owners has none,
//!   and that spreads as well.
//! * Reads: `node.{kind,name,self,edge_count}`, `edge.{kind,to}`.
//! * Writes: `node.shallow`.
//! * Resident memory: 8 bytes per node and 5 per edge while owners spread, then 9 per node, where the budget allows,
//!   paged where not; 1 MiB of stack.
//! * Passes over disk: one over the edges; those of ownable nodes again, at random.
//! * Worst case: every ownable node is visited twice.
//! * Fails when: the budget is too small, or sizes leave 64 bits.
//! * Determinism: none < one owner < many is a lattice, so the result does not depend on the order.
//! * Reference: Chrome DevTools, "shallow sizes of owned objects"; skipped there and here for snapshots without user
//!   roots, which show the heap as it is.

use super::{Snapshot, names};
use heaplake_kit::array::{Fault, column_bytes};
use heaplake_kit::{
    Array, ArrayPlan, ColumnReader, Context, Lookup, Offsets, ReadAt, Scratch, Stack, StageError, StageInfo, Stats,
    WriteAt,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column};
use std::fs;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "owners",
    version: 1,
    bytes_per_node: 12,
    bytes_per_edge: 5,
    least_bits_per_node: 0,
    least_fixed: 8 << 20,
    scratch_per_node: 8,
    scratch_per_edge: 0,
    passes: "edges once; edges of owned nodes at random",
};

/// Owner of each node, between the two halves of this stage.
const OWNER: Column<u32> = Column::new("v8.owner");

/// No owner found yet.
const NOBODY: u32 = u32::MAX;
/// More than one owner.
const MANY: u32 = u32::MAX - 1;

/// Settles the shallow sizes.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Overflow`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let snapshot = &Snapshot::load(scratch)?;
    let facts = &snapshot.facts;
    context.progress.begin(STAGE.name, facts.edge_count);
    let mut spilled_bytes = 0;
    if facts.distance_seeds.first().is_some_and(|seed| seed.count > 0) {
        spilled_bytes += owners(snapshot, scratch, context)?;
        spilled_bytes += hand_over(snapshot, scratch, context)?;
        scratch.discard(OWNER);
    } else {
        let path = scratch.path(columns::NODE_SHALLOW);
        fs::copy(scratch.path(columns::NODE_SELF), &path).map_err(|error| StageError::io(&path, "write", error))?;
    }
    context.progress.end();
    Ok(Stats { rows: facts.node_count, spilled_bytes })
}

/// Finds the owner of every node, [`NOBODY`] or [`MANY`]; nodes that cannot be owned own themselves. Gives the bytes
/// that were spilled.
fn owners(snapshot: &Snapshot, scratch: &Scratch, context: &Context<'_>) -> Result<u64, StageError> {
    let header = &snapshot.header;
    let nodes = header.node_count;
    let mut open: Stack<u32> = Stack::new(&context.budget, scratch, "owners.open")?;
    let (kind_bytes, to_bytes) = (column_bytes(scratch, columns::EDGE_KIND), column_bytes(scratch, columns::EDGE_TO));
    let sizes = [nodes * 4, Offsets::bytes(nodes), kind_bytes, to_bytes];
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &sizes);
    let mut owners = room.array::<u32>(nodes as usize, NOBODY)?;
    match &mut owners {
        Array::Resident(owners) => spread_all(snapshot, owners, &mut room, &mut open, scratch, context)?,
        owners @ Array::Paged(_) => spread_all(snapshot, owners, &mut room, &mut open, scratch, context)?,
    }
    owners.write_to(scratch, OWNER)?;
    Ok(room.spilled_bytes())
}

fn spread_all(
    snapshot: &Snapshot,
    owners: &mut impl WriteAt<u32>,
    room: &mut ArrayPlan<'_>,
    open: &mut Stack<u32>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let header = &snapshot.header;
    let weak = header.edge_type("weak").map_or(u16::MAX, u16::from);
    initial(snapshot, owners, scratch)?;

    // What owns itself never changes, so its edges are needed only once, in order.
    let mut counts = ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?;
    let mut edge_kind = ColumnReader::open(scratch, columns::EDGE_KIND)?;
    let mut edge_to = ColumnReader::open(scratch, columns::EDGE_TO)?;
    let mut edges = 0;
    for node in 0..header.node_count as u32 {
        let count = u64::from(counts.next()?);
        if owners.get(node as usize)? == node {
            for _ in 0..count {
                let (kind, to) = (u16::from(edge_kind.next()?), edge_to.next()?);
                if kind != weak && spread(owners, node, to.0)? {
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

    let offsets = Offsets::load(room, &context.budget, scratch, columns::NODE_EDGE_COUNT)?;
    let (edge_kind, edge_to) = (room.lookup(columns::EDGE_KIND)?, room.lookup(columns::EDGE_TO)?);
    match (offsets.resident(), edge_kind, edge_to) {
        (Ok(offsets), Lookup::Mapped(kind), Lookup::Mapped(to)) => {
            spread_further(weak, owners, offsets, kind, to, open, context)
        }
        (Ok(offsets), kind, to) => spread_further(weak, owners, offsets, kind, to, open, context),
        (Err(offsets), kind, to) => spread_further(weak, owners, offsets, kind, to, open, context),
    }
}

/// Spreads owners from the nodes whose own has changed, until none changes any more.
fn spread_further<O: ReadAt<u32>>(
    weak: u16,
    owners: &mut impl WriteAt<u32>,
    mut offsets: Offsets<O>,
    mut edge_kind: impl ReadAt<u8>,
    mut edge_to: impl ReadAt<NodeId>,
    open: &mut Stack<u32>,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let mut steps = 0u64;
    while let Some(node) = open.pop()? {
        let owner = owners.get(node as usize)?;
        for edge in offsets.range(node as usize)? {
            if u16::from(edge_kind.get(edge)?) == weak {
                continue;
            }
            let target = edge_to.get(edge)?.0;
            if spread(owners, owner, target)? {
                open.push(target)?;
            }
        }
        steps += 1;
        if steps.is_multiple_of(1 << 16) {
            context.check()?;
        }
    }
    Ok(())
}

/// Before anything spreads.
fn initial(snapshot: &Snapshot, owners: &mut impl WriteAt<u32>, scratch: &Scratch) -> Result<(), StageError> {
    let header = &snapshot.header;
    let external_data = names::find(scratch, &["system / ExternalStringData"])?[0];
    let (hidden, array, native) = (header.node_type("hidden"), header.node_type("array"), header.node_type("native"));
    let mut kinds = ColumnReader::open(scratch, columns::NODE_KIND)?;
    let mut names = ColumnReader::open(scratch, columns::NODE_NAME)?;
    for node in 0..owners.count() {
        let (kind, name) = (Some(kinds.next()?), names.next()?);
        let ownable = kind == hidden || kind == array || kind == native && name == external_data;
        owners.set(node, if ownable { NOBODY } else { node as u32 })?;
    }
    Ok(())
}

/// Tells `target` of an owner; says whether that was news to it.
#[inline]
fn spread(owners: &mut impl WriteAt<u32>, owner: u32, target: u32) -> Result<bool, Fault> {
    let known = owners.get(target as usize)?;
    if known == target || known == owner || known == MANY {
        return Ok(false);
    }
    owners.set(target as usize, if known == NOBODY { owner } else { MANY })?;
    Ok(true)
}

/// Moves the sizes of what is owned to its owner, unless that is synthetic. Gives the bytes that were spilled.
fn hand_over(snapshot: &Snapshot, scratch: &Scratch, context: &Context<'_>) -> Result<u64, StageError> {
    let header = &snapshot.header;
    let synthetic = header.node_type("synthetic");
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[header.node_count * 8, header.node_count]);
    let mut sizes = room.load(columns::NODE_SELF)?;
    let mut kinds = room.lookup(columns::NODE_KIND)?;
    let mut owners = ColumnReader::open(scratch, OWNER)?;
    for node in 0..sizes.count() {
        let owner = owners.next()?;
        let is_owned = owner != NOBODY && owner != MANY && owner as usize != node;
        if !is_owned || Some(kinds.get(owner as usize)?) == synthetic || u64::from(owner) == header.root {
            continue;
        }
        let size = sizes.change(node, std::mem::take)?;
        let sum = sizes.get(owner as usize)?.checked_add(size);
        sizes.set(owner as usize, sum.ok_or(StageError::Overflow("the shallow size of a node"))?)?;
    }
    sizes.write_to(scratch, columns::NODE_SHALLOW)?;
    Ok(room.spilled_bytes())
}
