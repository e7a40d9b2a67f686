//! Stage `shortest paths`: the node and the edge through which every node is nearest to a root.
//!
//! * Computes: for every node that has a distance and did not start a search, a node at a distance one less with an edge
//!   to it that distances follow. Of several edges the one of the least kind counts, then that of the least node, then
//!   the first. With the edge goes its label: its name, or one mark for all numbers, or one for all entries of weak maps,
//!   whose names hold ids.
//! * Reads: `node.{edge_count,distance}`, `edge.{kind,name,to,flags}`; where distances go along the holding edges,
//!   `holds.{degree,to}` instead of those of edges.
//! * Writes: `path.{parent,label}`.
//! * Resident memory: 13 bytes per node (distance 4, best edge so far 9) where the budget allows, paged where not.
//! * Passes over disk: one over the edges.
//! * Worst case: linear in nodes and edges.
//! * Fails when: the budget is too small.
//! * Determinism: one thread; the order above is total.
//! * Reference: none needed; any breadth-first tree would do, and this one depends on nothing but the graph.

use bytemuck::{Pod, Zeroable};
use heaplake_kit::{
    Array, ColumnReader, ColumnWriter, Context, Fetch, Lookup, Room, Scratch, StageError, StageInfo, Stats, Store,
};
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Facts, NO_DISTANCE, documents, edge_flags};

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "shortest paths",
    version: 1,
    bytes_per_node: 13,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 8 << 20,
    scratch_per_node: 8,
    scratch_per_edge: 0,
    passes: "edges once",
};

/// Columns that it reads where edges have names.
pub const READS: [&str; 4] =
    [columns::EDGE_KIND.name, columns::EDGE_NAME.name, columns::EDGE_TO.name, columns::EDGE_FLAGS.name];

/// Edges that are looked at in one go, and how many ahead of its turn the target of one is fetched.
const BATCH: usize = 1 << 14;
const AHEAD: usize = 16;

/// Above all kinds: there is no edge yet. Of 256 kinds the last would count as none, but no format has so many.
const NO_KIND: u8 = u8::MAX;

/// The best edge to a node so far.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Link {
    from: NodeId,
    label: u32,
}

/// Finds the tree.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let facts: &Facts = &scratch.read_document(documents::FACTS)?;
    let nodes = facts.node_count;
    context.progress.begin(STAGE.name, nodes);
    let mut room = Room::plan(&context.budget, scratch, STAGE.name, &[nodes * 4, nodes, nodes * 8]);
    let distance = room.lookup(columns::NODE_DISTANCE)?;
    let mut kinds = room.array(nodes as usize, NO_KIND)?;
    let mut links = room.array(nodes as usize, Link { from: NodeId::NONE, label: label::NONE })?;
    match (distance, &mut kinds, &mut links) {
        (Lookup::Mapped(distance), Array::Resident(kinds), Array::Resident(links)) => {
            search(facts, distance, kinds, links, scratch, context)?;
        }
        (distance, kinds, links) => search(facts, distance, kinds, links, scratch, context)?,
    }
    write(facts, &mut links, scratch, context)?;
    context.progress.end();
    Ok(Stats { rows: nodes, spilled_bytes: room.spilled_bytes() })
}

/// Looks at every edge.
fn search(
    facts: &Facts,
    mut distance: impl Fetch<i32>,
    best: &mut impl Store<u8>,
    links: &mut impl Store<Link>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let mut degree = ColumnReader::open(
        scratch,
        if facts.follows_holding { columns::HOLDS_DEGREE } else { columns::NODE_EDGE_COUNT },
    )?;
    let mut edges = Edges::open(facts, scratch)?;
    // The node whose edges are passed, how many of them are left, and its distance.
    let (mut next, mut left, mut far) = (0, 0, NO_DISTANCE);
    loop {
        let count = edges.read()?;
        if count == 0 {
            return Ok(());
        }
        let before = next;
        for at in 0..count {
            if let Some(soon) = edges.to.get(at + AHEAD) {
                distance.prefetch(soon.index());
            }
            while left == 0 {
                (left, far) = (degree.next()?, distance.get(next as usize)?);
                next += 1;
            }
            left -= 1;
            if far == NO_DISTANCE || edges.flags[at] & edge_flags::FOLLOWED == 0 {
                continue;
            }
            let to = edges.to[at].index();
            if distance.get(to)? != far + 1 {
                continue;
            }
            let kind = edges.kind[at];
            if kind < best.get(to)? {
                best.set(to, kind)?;
                links.set(to, Link { from: NodeId(next - 1), label: edges.label(facts, at) })?;
            }
        }
        context.step(u64::from(next - before))?;
    }
}

/// The edges in their order, as far as they matter here.
struct Edges {
    targets: ColumnReader<NodeId>,
    /// Kind, name and flags. Without them every edge is followed.
    details: Option<(ColumnReader<u8>, ColumnReader<u32>, ColumnReader<u8>)>,
    to: Vec<NodeId>,
    kind: Vec<u8>,
    name: Vec<u32>,
    flags: Vec<u8>,
}

impl Edges {
    fn open(facts: &Facts, scratch: &Scratch) -> Result<Self, StageError> {
        let details = match facts.follows_holding {
            true => None,
            false => Some((
                ColumnReader::open(scratch, columns::EDGE_KIND)?,
                ColumnReader::open(scratch, columns::EDGE_NAME)?,
                ColumnReader::open(scratch, columns::EDGE_FLAGS)?,
            )),
        };
        Ok(Self {
            targets: ColumnReader::open(
                scratch,
                if facts.follows_holding { columns::HOLDS_TO } else { columns::EDGE_TO },
            )?,
            details,
            to: Vec::with_capacity(BATCH),
            kind: vec![0; BATCH],
            name: vec![label::NONE; BATCH],
            flags: vec![edge_flags::FOLLOWED; BATCH],
        })
    }

    /// Goes on to the next batch; its number of edges.
    fn read(&mut self) -> Result<usize, StageError> {
        let count = self.targets.remaining().min(BATCH as u64) as usize;
        self.to.clear();
        self.targets.append_to(&mut self.to, count)?;
        if let Some((kinds, names, flags)) = &mut self.details {
            kinds.read_into(&mut self.kind[..count])?;
            names.read_into(&mut self.name[..count])?;
            flags.read_into(&mut self.flags[..count])?;
        }
        Ok(count)
    }

    fn label(&self, facts: &Facts, at: usize) -> u32 {
        if self.details.is_none() {
            label::NONE
        } else if self.flags[at] & edge_flags::PAIRED != 0 {
            label::ENTRY
        } else if facts.edge_kinds.get(usize::from(self.kind[at])).is_some_and(|kind| kind.indexed) {
            label::INDEX
        } else {
            self.name[at]
        }
    }
}

fn write(
    facts: &Facts,
    links: &mut impl Store<Link>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let mut distance = ColumnReader::open(scratch, columns::NODE_DISTANCE)?;
    let mut parent = ColumnWriter::create(scratch, columns::PATH_PARENT)?;
    let mut labels = ColumnWriter::create(scratch, columns::PATH_LABEL)?;
    for node in 0..facts.node_count as usize {
        let link = links.get(node)?;
        parent.push(link.from)?;
        labels.push(if distance.next()? == NO_DISTANCE { label::NO_PATH } else { link.label })?;
        if node.is_multiple_of(1 << 16) {
            context.check()?;
        }
    }
    parent.finish()?;
    labels.finish().map(drop)
}
