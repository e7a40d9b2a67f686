//! Stage `owners`: shallow sizes, with the parts of an object counted where people look for them.
//!
//! * Computes: the backing stores, hidden parts and external string data that exactly one object owns, and hands their
//!   size to it. Owners spread over all edges but weak ones, through owned nodes too; a node with two owners has none,
//!   and that spreads as well.
//! * Reads: `node.{kind,name,self,edge_count}`, `edge.{kind,to}`.
//! * Writes: `node.shallow`.
//! * Resident memory: 8 bytes per node and 8 per ownable node while owners spread; then 12 per node.
//! * Passes over disk: one over the edges; those of ownable nodes again, at random.
//! * Worst case: every ownable node is visited twice.
//! * Fails when: the budget is too small, or sizes leave 64 bits.
//! * Determinism: none < one owner < many is a lattice, so the result does not depend on the order.
//! * Reference: Chrome DevTools, "shallow sizes of owned objects"; skipped there and here for snapshots without user
//!   roots, which show the heap as it is.

use super::{Snapshot, names};
use heaplake_kit::{
    BudgetVec, ColumnMap, ColumnReader, ColumnWriter, Context, Offsets, Scratch, StageError, StageInfo, Stats,
};
use heaplake_schemas::scratch as columns;
use std::fs;

/// What the plan knows of this stage.
pub const STAGE: StageInfo =
    StageInfo { name: "owners", version: 1, bytes_per_node: 16, bytes_per_edge: 0, bytes_fixed: 2 << 20 };

/// No owner found yet.
const NOBODY: u32 = u32::MAX;
/// More than one owner.
const MANY: u32 = u32::MAX - 1;

/// Settles the shallow sizes.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Overflow`], [`StageError::Cancelled`].
pub fn run(snapshot: &Snapshot, scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let facts = &snapshot.facts;
    context.progress.begin(STAGE.name, facts.edge_count);
    if facts.distance_seeds.first().is_some_and(|seed| !seed.nodes.is_empty()) {
        let owners = owners(snapshot, scratch, context)?;
        hand_over(snapshot, &owners, scratch, context)?;
    } else {
        let path = scratch.path(columns::NODE_SHALLOW);
        fs::copy(scratch.path(columns::NODE_SELF), &path).map_err(|error| StageError::io(&path, "write", error))?;
    }
    context.progress.end();
    Ok(Stats { rows: facts.node_count, spilled_bytes: 0 })
}

/// The owner of every node, [`NOBODY`] or [`MANY`]; nodes that cannot be owned own themselves.
fn owners(snapshot: &Snapshot, scratch: &Scratch, context: &Context<'_>) -> Result<BudgetVec<u32>, StageError> {
    let header = &snapshot.header;
    let nodes = header.node_count as usize;
    let mut owners = initial(snapshot, scratch, context)?;
    let mut open = context.budget.growing::<u32>("owners: open nodes");
    let weak = header.edge_type("weak").map_or(u16::MAX, u16::from);

    // What owns itself never changes, so its edges are needed only once, in order.
    let mut counts = ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?;
    let mut edge_kind = ColumnReader::open(scratch, columns::EDGE_KIND)?;
    let mut edge_to = ColumnReader::open(scratch, columns::EDGE_TO)?;
    let mut edges = 0;
    for node in 0..nodes as u32 {
        let count = counts.next()?;
        let owns_itself = owners[node as usize] == node;
        for _ in 0..count {
            let (kind, to) = (u16::from(edge_kind.next()?), edge_to.next()?);
            if owns_itself && kind != weak && spread(&mut owners, node, to.0) {
                open.push(to.0)?;
            }
        }
        edges += u64::from(count);
        if edges >= 1 << 18 {
            context.step(std::mem::take(&mut edges))?;
        }
    }

    let offsets = Offsets::load(&context.budget, "owners: offsets", scratch, columns::NODE_EDGE_COUNT)?;
    let edge_kind = ColumnMap::open(scratch, columns::EDGE_KIND, None)?;
    let edge_to = ColumnMap::open(scratch, columns::EDGE_TO, None)?;
    let mut steps = 0u64;
    while let Some(node) = open.pop() {
        let owner = owners[node as usize];
        for edge in offsets.range(node as usize) {
            if u16::from(edge_kind[edge]) != weak && spread(&mut owners, owner, edge_to[edge].0) {
                open.push(edge_to[edge].0)?;
            }
        }
        steps += 1;
        if steps.is_multiple_of(1 << 16) {
            context.check()?;
        }
    }
    Ok(owners)
}

/// Before anything spreads.
fn initial(snapshot: &Snapshot, scratch: &Scratch, context: &Context<'_>) -> Result<BudgetVec<u32>, StageError> {
    let header = &snapshot.header;
    let external_data = names::find(scratch, &["system / ExternalStringData"])?[0];
    let (hidden, array, native) = (header.node_type("hidden"), header.node_type("array"), header.node_type("native"));
    let mut kinds = ColumnReader::open(scratch, columns::NODE_KIND)?;
    let mut names = ColumnReader::open(scratch, columns::NODE_NAME)?;
    let mut owners = context.budget.zeroed::<u32>("owners", header.node_count as usize)?;
    for (node, owner) in owners.iter_mut().enumerate() {
        let (kind, name) = (Some(kinds.next()?), names.next()?);
        let ownable = kind == hidden || kind == array || kind == native && name == external_data;
        *owner = if ownable { NOBODY } else { node as u32 };
    }
    Ok(owners)
}

/// Tells `target` of an owner; says whether that was news to it.
#[inline]
fn spread(owners: &mut [u32], owner: u32, target: u32) -> bool {
    let known = &mut owners[target as usize];
    if *known == target || *known == owner || *known == MANY {
        return false;
    }
    *known = if *known == NOBODY { owner } else { MANY };
    true
}

/// Moves the sizes of what is owned to its owner, unless that is synthetic.
fn hand_over(snapshot: &Snapshot, owners: &[u32], scratch: &Scratch, context: &Context<'_>) -> Result<(), StageError> {
    let header = &snapshot.header;
    let synthetic = header.node_type("synthetic");
    let kinds = ColumnMap::open(scratch, columns::NODE_KIND, None)?;
    let mut sizes = context.budget.zeroed::<u64>("shallow sizes", owners.len())?;
    ColumnReader::open(scratch, columns::NODE_SELF)?.read_into(&mut sizes)?;
    for (node, &owner) in owners.iter().enumerate() {
        let is_owned = owner != NOBODY && owner != MANY && owner as usize != node;
        if is_owned && Some(kinds[owner as usize]) != synthetic && u64::from(owner) != header.root {
            let size = std::mem::take(&mut sizes[node]);
            let sum = &mut sizes[owner as usize];
            *sum = sum.checked_add(size).ok_or(StageError::Overflow("the shallow size of a node"))?;
        }
    }
    let mut column = ColumnWriter::create(scratch, columns::NODE_SHALLOW)?;
    column.extend(&sizes)?;
    column.finish().map(drop)
}
