//! Stage `detached`: which DOM nodes are attached to a document and which are not.
//!
//! * Computes: the state of every native node, spread from those whose state the file gives: attached ones first, then
//!   detached ones; states that the file gives never change. Detached nodes are renamed `Detached <name>`. In files
//!   without the field, native nodes named `Detached …` are detached, and nothing spreads.
//! * Reads: `node.{kind,name,detached,edge_count}`, `edge.{kind,to}`.
//! * Writes: `node.{detached,name}` anew; new names in the string table.
//! * Resident memory: where any state is known, 6 bytes per node and 5 per edge where the budget allows, paged where
//!   not, 1 bit per node, and 1 MiB of stack; else none.
//! * Passes over disk: one over the nodes; edges of native nodes at random.
//! * Worst case: linear in nodes and edges.
//! * Fails when: the budget is too small.
//! * Determinism: the result does not depend on the order in which states spread.
//! * Reference: Chrome DevTools, propagation of the DOM link state.

use super::Snapshot;
use super::{intern, names};
use heaplake_kit::array::column_bytes;
use heaplake_kit::{
    ArrayPlan, Bitset, ColumnReader, ColumnWriter, Context, Offsets, ReadAt, Scratch, Stack, StageError, StageInfo,
    Stats, StringTable, WriteAt,
};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::{self as columns, Column, STRINGS};
use rustc_hash::FxHashMap;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "detached",
    version: 1,
    bytes_per_node: 6,
    bytes_per_edge: 5,
    least_bits_per_node: 1,
    least_fixed: 8 << 20,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "nodes once; edges of native nodes at random",
};

/// The states as the file gives them.
const GIVEN_STATE: Column<u8> = Column::new("v8.given_state");
/// The names as the file gives them.
const GIVEN_NAME: Column<StringId> = Column::new("v8.given_name");
/// A column that is about to replace another.
const NEW_STATE: Column<u8> = Column::new("v8.new_state");

const UNKNOWN: u8 = 0;
const ATTACHED: u8 = 1;
const DETACHED: u8 = 2;

/// Spreads the states.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let snapshot = &Snapshot::load(scratch)?;
    let nodes = snapshot.header.node_count;
    context.progress.begin(STAGE.name, nodes);
    if snapshot.header.node.detachedness.is_none() {
        from_names(snapshot, scratch)?;
    } else if any_state(scratch)? {
        scratch.keep(columns::NODE_DETACHED, GIVEN_STATE)?;
        scratch.keep(columns::NODE_NAME, GIVEN_NAME)?;
        let renamed = spread(snapshot, scratch, context)?;
        rename(&renamed, scratch)?;
    }
    context.progress.end();
    Ok(Stats { rows: nodes, spilled_bytes: 0 })
}

/// Files without the field: the name tells.
fn from_names(snapshot: &Snapshot, scratch: &Scratch) -> Result<(), StageError> {
    let native = snapshot.header.node_type("native");
    let table = StringTable::open(scratch, STRINGS)?;
    let mut kind = ColumnReader::open(scratch, columns::NODE_KIND)?;
    let mut name = ColumnReader::open(scratch, columns::NODE_NAME)?;
    let mut column = ColumnWriter::create(scratch, columns::NODE_DETACHED)?;
    for _ in 0..snapshot.header.node_count {
        let (kind, name) = (kind.next()?, name.next()?);
        let detached = Some(kind) == native && table.get(name.index()).starts_with(b"Detached ");
        column.push(if detached { DETACHED } else { UNKNOWN })?;
    }
    column.finish().map(drop)
}

fn any_state(scratch: &Scratch) -> Result<bool, StageError> {
    let mut states = ColumnReader::open(scratch, columns::NODE_DETACHED)?;
    while states.remaining() > 0 {
        if states.next_slice(usize::MAX)?.iter().any(|&state| state != UNKNOWN) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Spreads the states and gives the nodes that are detached.
fn spread(snapshot: &Snapshot, scratch: &Scratch, context: &Context<'_>) -> Result<Bitset, StageError> {
    let header = &snapshot.header;
    let nodes = header.node_count;
    let mut renamed = Bitset::new(&context.budget, "detachedness: renamed", nodes as usize)?;
    let mut open: Stack<u32> = Stack::new(&context.budget, scratch, "detached.open")?;
    let (kind_bytes, to_bytes) = (column_bytes(scratch, columns::EDGE_KIND), column_bytes(scratch, columns::EDGE_TO));
    let sizes = [nodes, nodes, Offsets::bytes(nodes), kind_bytes, to_bytes];
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &sizes);
    let mut states = room.load(GIVEN_STATE)?;
    let mut kind = room.lookup(columns::NODE_KIND)?;
    let mut offsets = Offsets::load(&mut room, &context.budget, scratch, columns::NODE_EDGE_COUNT)?;
    let mut edge_kind = room.lookup(columns::EDGE_KIND)?;
    let mut to = room.lookup(columns::EDGE_TO)?;
    let native = header.node_type("native");
    let silent: Vec<u8> =
        ["hidden", "invisible", "weak"].into_iter().filter_map(|name| header.edge_type(name)).collect();
    // Attached nodes first: what they reach can no longer become detached. The nodes of each state are looked for anew,
    // because spreading adds to them only what is spread already.
    for state in [ATTACHED, DETACHED] {
        for start in 0..nodes as usize {
            let spreads = states.get(start)? == state && Some(kind.get(start)?) == native;
            if !spreads || (state == DETACHED && !renamed.insert(start)) {
                continue;
            }
            open.push(start as u32)?;
            while let Some(node) = open.pop()? {
                for edge in offsets.range(node as usize)? {
                    let target = to.get(edge)?.index();
                    if states.get(target)? != UNKNOWN
                        || Some(kind.get(target)?) != native
                        || silent.contains(&edge_kind.get(edge)?)
                    {
                        continue;
                    }
                    states.set(target, state)?;
                    if state == DETACHED {
                        renamed.insert(target);
                    }
                    open.push(target as u32)?;
                }
            }
            context.check()?;
        }
    }
    states.write_to(scratch, NEW_STATE)?;
    scratch.replace(columns::NODE_DETACHED, NEW_STATE)?;
    Ok(renamed)
}

/// Gives the nodes in the set their new names.
fn rename(renamed: &Bitset, scratch: &Scratch) -> Result<(), StageError> {
    let mut names = ColumnReader::open(scratch, GIVEN_NAME)?;
    let mut old: Vec<StringId> = Vec::new();
    for node in 0..names.remaining() as usize {
        let name = names.next()?;
        if renamed.contains(node) {
            old.push(name);
        }
    }
    old.sort_unstable();
    old.dedup();
    let table = StringTable::open(scratch, STRINGS)?;
    let new: Vec<Vec<u8>> = old.iter().map(|id| [b"Detached ", table.get(id.index())].concat()).collect();
    drop(table);
    let new = names::intern(scratch, &new)?;
    tag_new_names(&new, scratch)?;
    let new: FxHashMap<StringId, StringId> = old.into_iter().zip(new).collect();
    let mut node = 0;
    intern::rewrite(scratch, GIVEN_NAME, columns::NODE_NAME, |name| {
        node += 1;
        Ok(if renamed.contains(node - 1) { new.get(&name).copied().unwrap_or(name) } else { name })
    })
}

/// Notes those of the new names that classes will have to cut.
fn tag_new_names(names: &[StringId], scratch: &Scratch) -> Result<(), StageError> {
    let table = StringTable::open(scratch, STRINGS)?;
    let mut tags = ColumnWriter::append(scratch, super::read::TAG_STRING)?;
    for &name in names.iter().filter(|name| table.get(name.index()).starts_with(b"Detached <")) {
        tags.push(name)?;
    }
    tags.finish().map(drop)
}
