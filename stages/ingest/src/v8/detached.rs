//! Stage `detached`: which DOM nodes are attached to a document.
//!
//! * Computes: the state of every native node, propagated from nodes with a state in the file: first from attached
//!   ones, then from detached ones; states from the file never change. Detached nodes are renamed `Detached <name>`. In
//!   files without the field, native nodes named `Detached …` are detached, without propagation. Names are rewritten
//!   only if some state is known.
//! * Resident memory: if any state is known, 3.2 bytes per node and 5 per edge, paged if they do not fit, 1 bit per
//!   node, and 1 MiB of stack; otherwise none.
//! * Passes over disk: one over the nodes; random reads of the edges of native nodes.
//! * Worst case: linear in nodes and edges.
//! * Fails when: the budget is too small.
//! * Determinism: the result does not depend on the order of propagation.
//! * Reference: Chrome DevTools, propagation of the DOM link state.

use super::names;
use super::snapshot::{DETACHEDNESS, DOCUMENT, Snapshot, TAG_STRING};
use heaplake_kit::access::{bits_per_node, column, document, per_edge, per_node, texts};
use heaplake_kit::array_plan::{loaded, lookup, offsets};
use heaplake_kit::{
    ArrayPlan, Bitset, ColumnReader, ColumnWriter, Job, OffsetBlock, Offsets, ReadAt, Scratch, Stack, Stage,
    StageError, Stats, StringTable, WriteAt, on_resident, open_all,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, STRING_HASH, STRINGS};
use rustc_hash::FxHashMap;

/// Declaration of the stage.
pub const STAGE: Stage = Stage {
    name: "detached",
    version: 2,
    reads: &[
        document(DOCUMENT),
        column(DETACHEDNESS).if_any(),
        column(columns::NODE_KIND),
        column(columns::NODE_EDGE_COUNT),
        column(columns::EDGE_KIND),
        column(columns::EDGE_TO),
    ],
    writes: &[column(columns::NODE_DETACHED)],
    appends: &[texts(STRINGS), column(STRING_HASH), column(TAG_STRING)],
    rewrites: &[column(columns::NODE_NAME)],
    arrays: &[&[per_node::<u8>(), per_node::<u8>(), Offsets::SIZE, per_edge::<u8>(), per_edge::<NodeId>()]],
    least: &[bits_per_node(1)],
    fixed: 8 << 20,
    shares: true,
    passes: "nodes once; edges of native nodes at random",
    run,
    ..Stage::NEW
};

const UNKNOWN: u8 = 0;
const ATTACHED: u8 = 1;
const DETACHED: u8 = 2;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let snapshot = &Snapshot::load(scratch)?;
    let nodes = snapshot.header.node_count;
    context.progress.begin(STAGE.name, nodes);
    let mut spilled_bytes = 0;
    if snapshot.header.node.detachedness.is_none() {
        scratch.take_back(columns::NODE_NAME)?;
        from_names(snapshot, scratch)?;
    } else if any_state(scratch)? {
        let renamed = spread(snapshot, &mut spilled_bytes, job)?;
        rename(&renamed, scratch)?;
    } else {
        scratch.take_back(columns::NODE_NAME)?;
        scratch.share(DETACHEDNESS, columns::NODE_DETACHED)?;
    }
    Ok(Stats { rows: nodes, spilled_bytes })
}

/// Derives states from names, for files without the field.
fn from_names(snapshot: &Snapshot, scratch: &Scratch) -> Result<(), StageError> {
    let native = snapshot.header.node_type("native");
    let table = StringTable::open(scratch, STRINGS)?;
    let (mut kind, mut name) = open_all(scratch, (columns::NODE_KIND, columns::NODE_NAME))?;
    let mut column = ColumnWriter::create(scratch, columns::NODE_DETACHED)?;
    for _ in 0..snapshot.header.node_count {
        let (kind, name) = (kind.next()?, name.next()?);
        let detached = Some(kind) == native && table.get(name.index()).starts_with(b"Detached ");
        column.push(if detached { DETACHED } else { UNKNOWN })?;
    }
    column.finish().map(drop)
}

fn any_state(scratch: &Scratch) -> Result<bool, StageError> {
    let mut states = ColumnReader::open(scratch, DETACHEDNESS)?;
    while states.remaining() > 0 {
        if states.next_slice(usize::MAX)?.iter().any(|&state| state != UNKNOWN) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Propagates the states and writes them; returns the detached nodes.
fn spread(snapshot: &Snapshot, spilled_bytes: &mut u64, job: &Job<'_>) -> Result<Bitset, StageError> {
    let Job { scratch, context, .. } = *job;
    let header = &snapshot.header;
    let mut renamed = Bitset::new(&context.budget, "detachedness: renamed", header.node_count as usize)?;
    let mut open: Stack<u32> = Stack::new(&context.budget, scratch, "detached.open")?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (mut states, mut kind, mut offsets, mut edge_kind, mut to) = plan.make((
        loaded(DETACHEDNESS),
        lookup(columns::NODE_KIND),
        offsets(columns::NODE_EDGE_COUNT, columns::EDGE_TO),
        lookup(columns::EDGE_KIND),
        lookup(columns::EDGE_TO),
    ))?;
    let mut silent = [false; 256];
    ["hidden", "invisible", "weak"]
        .into_iter()
        .filter_map(|name| header.edge_type(name))
        .for_each(|kind| silent[usize::from(kind)] = true);
    let native = header.node_type("native");
    on_resident!(states, kind, offsets, edge_kind, to => {
        let mut graph = Graph { states, kind, offsets, edge_kind, to, native, silent };
        graph.spread_all(&mut renamed, &mut open, job)
    })?;
    states.write_to(scratch, columns::NODE_DETACHED)?;
    *spilled_bytes = plan.spilled_bytes();
    Ok(renamed)
}

struct Graph<S, K, O, E, T> {
    states: S,
    kind: K,
    offsets: Offsets<O>,
    edge_kind: E,
    to: T,
    /// Node kind that has states.
    native: Option<u8>,
    /// Per edge kind, whether it does not propagate states.
    silent: [bool; 256],
}

impl<S, K, O, E, T> Graph<S, K, O, E, T>
where
    S: WriteAt<u8>,
    K: ReadAt<u8>,
    O: ReadAt<OffsetBlock>,
    E: ReadAt<u8>,
    T: ReadAt<NodeId>,
{
    /// Propagates all states, attached ones first: nodes that they reach cannot become detached. A scan finds the start
    /// nodes of each state; expanding a node again that propagation has added changes nothing.
    fn spread_all(&mut self, renamed: &mut Bitset, open: &mut Stack<u32>, job: &Job<'_>) -> Result<(), StageError> {
        for state in [ATTACHED, DETACHED] {
            for start in 0..self.states.count() {
                let spreads = self.states.get(start)? == state && Some(self.kind.get(start)?) == self.native;
                if !spreads || (state == DETACHED && !renamed.insert(start)) {
                    continue;
                }
                open.push(start as u32)?;
                while let Some(node) = open.pop()? {
                    self.spread(node as usize, state, renamed, open)?;
                }
                job.context.check()?;
            }
        }
        Ok(())
    }

    /// Propagates a state from a node to its native neighbours without one.
    fn spread(
        &mut self,
        node: usize,
        state: u8,
        renamed: &mut Bitset,
        open: &mut Stack<u32>,
    ) -> Result<(), StageError> {
        for edge in self.offsets.range(node)? {
            let target = self.to.get(edge)?.index();
            if self.states.get(target)? != UNKNOWN
                || Some(self.kind.get(target)?) != self.native
                || self.silent[usize::from(self.edge_kind.get(edge)?)]
            {
                continue;
            }
            self.states.set(target, state)?;
            if state == DETACHED {
                renamed.insert(target);
            }
            open.push(target as u32)?;
        }
        Ok(())
    }
}

/// Renames the nodes in the set.
fn rename(renamed: &Bitset, scratch: &Scratch) -> Result<(), StageError> {
    let mut names = ColumnReader::open(&scratch.originals(), columns::NODE_NAME)?;
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
    let mut names = ColumnReader::open(&scratch.originals(), columns::NODE_NAME)?;
    let mut column = ColumnWriter::create(scratch, columns::NODE_NAME)?;
    for node in 0..names.remaining() as usize {
        let name = names.next()?;
        column.push(if renamed.contains(node) { new.get(&name).copied().unwrap_or(name) } else { name })?;
    }
    column.finish().map(drop)
}

/// Records the new names that classes must cut.
fn tag_new_names(names: &[StringId], scratch: &Scratch) -> Result<(), StageError> {
    let table = StringTable::open(scratch, STRINGS)?;
    let mut tags = ColumnWriter::append(scratch, TAG_STRING)?;
    for &name in names.iter().filter(|name| table.get(name.index()).starts_with(b"Detached <")) {
        tags.push(name)?;
    }
    tags.finish().map(drop)
}
