//! Stage `holders`: which set of duplicates holds which.
//!
//! * Computes: for each set the nearest other one whose members must be passed on every way from a root to a member of it. A
//!   set holds another exactly if it dominates it in the graph in which the members of each set are one. Instead of making
//!   them one, all references to a member are led to the first one, which then refers to the others: that has the same
//!   dominators, and no node changes its number.
//! * Reads: `essential.{degree,to,orphan}`, `equal.set`, `set.{row,member}`; between the two halves of this stage come those of
//!   the graph of essential edges, on columns of their own.
//! * Writes: `essential.{degree,to,orphan}` in a folder of its own; `set.row` anew.
//! * Resident memory: sets of nodes 4 bytes per node, and 16 per set; then 4 bytes per node and 8 per set, where the budget
//!   allows, paged where not.
//! * Passes over disk: essential edges once; then the order of the search once.
//! * Worst case: linear, and that of the dominators.
//! * Fails when: the budget is too small.
//! * Determinism: dominators are unique.
//! * Reference: sets are stable: what one member refers to, up to the identity of members of sets, the others refer to as
//!   well. So a way through the graph with sets as one node can be gone in the real one, too.

use heaplake_kit::{
    Array, ArrayPlan, ColumnMap, ColumnReader, ColumnWriter, Context, Lookup, ReadAt, Scratch, StageError, StageInfo,
    Stats, WriteAt,
};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::ids::{NodeId, SetId};
use heaplake_schemas::scratch::{self as columns, Column, Facts, documents, limits};

/// What the plan knows of this stage, that of the stages in its middle included.
pub const STAGE: StageInfo = StageInfo {
    name: "holders",
    version: 1,
    bytes_per_node: 20,
    bytes_per_edge: 4,
    least_bits_per_node: 0,
    least_fixed: 40 << 20,
    scratch_per_node: 24,
    scratch_per_edge: 8,
    passes: "essential edges as in preorder, retainers, dominators",
};

/// Columns of other stages that this one reads.
pub const READS: [&str; 3] = ["essential.degree", "essential.to", "essential.orphan"];

/// Folder for the graph in which sets are one.
const FOLDER: &str = "holders";

const NEW_ROWS: Column<SetRow> = Column::new("set.row_held");

/// Runs the stages of the graph of essential edges, in order, on another graph.
pub type Dominators = fn(&Scratch, &Context<'_>) -> Result<Stats, StageError>;

/// Finds the holders. `dominators` must leave `preorder.{node,dominator}` in the folder that it is given.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(dominators: Dominators, scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let inner = Scratch::create(&scratch.file(FOLDER))?;
    let spilled = lead_to_first(scratch, &inner, context)?;
    let stats = dominators(&inner, context)?;
    context.progress.begin(STAGE.name, 0);
    nearest(scratch, &inner, context)?;
    inner.remove()?;
    context.progress.end();
    Ok(Stats { rows: stats.rows, spilled_bytes: spilled + stats.spilled_bytes })
}

/// The first member of a set, and where its members begin; nothing for sets that may be none.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Set {
    start: u64,
    first: NodeId,
    members: u32,
}

/// Sets of nodes, and first members of sets.
struct Sets {
    of: Lookup<SetId>,
    sets: Array<Set>,
}

impl Sets {
    fn load(room: &mut ArrayPlan<'_>, scratch: &Scratch) -> Result<Self, StageError> {
        let of = room.lookup(columns::EQUAL_SET)?;
        let mut rows = ColumnReader::open(scratch, columns::SET_ROW)?;
        let count = rows.remaining() as usize;
        let mut sets = room.array(count, Set { start: 0, first: NodeId::NONE, members: 0 })?;
        let mut start = 0;
        for set in 0..count {
            let row = rows.next()?;
            if row.reasons & (limits::MODE | limits::WORK) == 0 {
                sets.set(set, Set { start, first: row.example, members: row.members })?;
            }
            start += u64::from(row.members);
        }
        Ok(Self { of, sets })
    }

    /// The set that a node is the first member of, or where references to it are to be led.
    #[inline]
    fn led(&mut self, node: NodeId) -> Result<(NodeId, Option<Set>), StageError> {
        let set = self.of.get(node.index())?;
        if set.is_none() {
            return Ok((node, None));
        }
        let set = self.sets.get(set.index())?;
        Ok(match set.first {
            first if first.is_none() => (node, None),
            first => (first, (first == node).then_some(set)),
        })
    }
}

/// Writes the graph in which references to members of sets lead to their first one.
fn lead_to_first(scratch: &Scratch, inner: &Scratch, context: &Context<'_>) -> Result<u64, StageError> {
    let facts: Facts = scratch.read_document(documents::FACTS)?;
    let mut degrees = ColumnReader::open(scratch, columns::ESSENTIAL_DEGREE)?;
    let nodes = degrees.remaining();
    context.progress.begin(STAGE.name, nodes);
    let mut to = ColumnReader::open(scratch, columns::ESSENTIAL_TO)?;
    let rows = ColumnReader::open(scratch, columns::SET_ROW)?.remaining();
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[nodes * 4, rows * size_of::<Set>() as u64]);
    let mut sets = Sets::load(&mut room, scratch)?;
    let members = ColumnMap::open(scratch, columns::SET_MEMBER, None)?;
    let mut new_degrees = ColumnWriter::create(inner, columns::ESSENTIAL_DEGREE)?;
    let mut new_to = ColumnWriter::create(inner, columns::ESSENTIAL_TO)?;
    let mut edges = 0;
    for node in (0..nodes as u32).map(NodeId) {
        let degree = degrees.next()?;
        let mut new_degree = 0;
        for _ in 0..degree {
            let (target, _) = sets.led(to.next()?)?;
            if target != node {
                new_to.push(target)?;
                new_degree += 1;
            }
        }
        if let (_, Some(set)) = sets.led(node)? {
            let start = set.start as usize;
            new_to.extend(&members[start + 1..start + set.members as usize])?;
            new_degree += set.members - 1;
        }
        new_degrees.push(new_degree)?;
        edges += u64::from(degree) + 1;
        if edges >= 1 << 17 {
            context.step(std::mem::take(&mut edges))?;
        }
    }
    new_degrees.finish()?;
    new_to.finish()?;
    let mut orphans = ColumnReader::open(scratch, columns::ESSENTIAL_ORPHAN)?;
    let mut new_orphans = ColumnWriter::create(inner, columns::ESSENTIAL_ORPHAN)?;
    while orphans.remaining() > 0 {
        new_orphans.push(sets.led(orphans.next()?)?.0)?;
    }
    new_orphans.finish()?;
    let facts = Facts { root: facts.root, node_count: nodes, ..Facts::default() };
    inner.write_document(documents::FACTS, &facts)?;
    context.progress.end();
    Ok(room.spilled_bytes())
}

/// Notes for each set the nearest one above it.
fn nearest(scratch: &Scratch, inner: &Scratch, context: &Context<'_>) -> Result<(), StageError> {
    let mut order = ColumnReader::open(inner, columns::PREORDER_NODE)?;
    let mut dominators = ColumnReader::open(inner, columns::PREORDER_DOMINATOR)?;
    let (count, nodes) = (order.remaining(), ColumnReader::open(scratch, columns::EQUAL_SET)?.remaining());
    let mut rows = ColumnReader::open(scratch, columns::SET_ROW)?;
    let (many, set_bytes) = (rows.remaining(), size_of::<Set>() as u64);
    let sizes = [nodes * 4, many * set_bytes, count * 4, many * 4];
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &sizes);
    let mut sets = Sets::load(&mut room, scratch)?;
    let mut above = room.array(count as usize, SetId::NONE)?;
    let mut held_by = room.array(many as usize, SetId::NONE)?;
    for position in 0..count as usize {
        let (node, dominator) = (order.next()?, dominators.next()?);
        let mut nearest = if position == 0 { SetId::NONE } else { above.get(dominator.index())? };
        if let (_, Some(_)) = sets.led(node)? {
            let set = sets.of.get(node.index())?;
            held_by.set(set.index(), nearest)?;
            nearest = set;
        }
        above.set(position, nearest)?;
        if position % (1 << 16) == 0 {
            context.check()?;
        }
    }
    let mut writer = ColumnWriter::create(scratch, NEW_ROWS)?;
    for set in 0..many as usize {
        writer.push(SetRow { held_by: held_by.get(set)?, ..rows.next()? })?;
    }
    writer.finish()?;
    scratch.replace(columns::SET_ROW, NEW_ROWS)
}
