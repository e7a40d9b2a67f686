//! Stage `shortest paths`: the node and the edge through which every node is nearest to a root.
//!
//! * Computes: for every node that has a distance and did not start a search, a node at a distance one less with an edge
//!   to it that distances follow. Of several edges the one of the least kind counts, then that of the least node, then
//!   the first. With the edge goes its label: its name, or one mark for all numbers and names that are numbers, or one
//!   for all entries of weak maps, whose names hold ids.
//! * Reads: `node.{edge_count,distance}`, `edge.{kind,name,to,flags}`; where distances go along the essential edges,
//!   `essential.{degree,to}` instead of those of edges, and where it is there, how they are called, `essential.{label,name}`,
//!   `node.class` and `class.label{.start,}`.
//! * Writes: `path.{parent,label}`.
//! * Resident memory: 13 bytes per node (distance 4, best edge so far 9) where the budget allows, paged where not.
//! * Passes over disk: one over the edges.
//! * Worst case: linear in nodes and edges.
//! * Fails when: the budget is too small.
//! * Determinism: one thread; the order above is total.
//! * Reference: none needed; any breadth-first tree would do, and this one depends on nothing but the graph.

use bytemuck::{Pod, Zeroable};
use heaplake_kit::{
    Array, ArrayPlan, ColumnMap, ColumnReader, ColumnWriter, Context, Lookup, ReadAt, Scratch, StageError, StageInfo,
    Stats, StringTable, WriteAt,
};
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, Facts, NO_DISTANCE, STRINGS, documents, edge_flags, edge_label};

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "shortest paths",
    version: 3,
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
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[nodes * 4, nodes, nodes * 8]);
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
    mut distance: impl ReadAt<i32>,
    best: &mut impl WriteAt<u8>,
    links: &mut impl WriteAt<Link>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let mut degree = ColumnReader::open(
        scratch,
        if facts.follows_essential { columns::ESSENTIAL_DEGREE } else { columns::NODE_EDGE_COUNT },
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
                edges.enter()?;
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

/// What is known of edges besides their targets.
enum Details {
    /// Kind, name and flags.
    All(ColumnReader<u8>, ColumnReader<u32>, ColumnReader<u8>),
    /// Every edge is followed, and this is how it is called.
    Ways(Ways),
    /// Every edge is followed.
    Nothing,
}

/// How essential edges are called.
struct Ways {
    way: ColumnReader<u8>,
    named: ColumnReader<u32>,
    /// Classes of the sources, in order, and that of the one at hand.
    classes: ColumnReader<ClassId>,
    class: ClassId,
    start: ColumnMap<u64>,
    names: ColumnMap<StringId>,
    batch: Vec<u8>,
}

impl Ways {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            way: ColumnReader::open(scratch, columns::ESSENTIAL_LABEL)?,
            named: ColumnReader::open(scratch, columns::ESSENTIAL_NAME)?,
            classes: ColumnReader::open(scratch, columns::NODE_CLASS)?,
            class: ClassId::NONE,
            start: ColumnMap::open(scratch, columns::CLASS_LABEL_START, None)?,
            names: ColumnMap::open(scratch, columns::CLASS_LABEL, None)?,
            batch: vec![0; BATCH],
        })
    }

    /// Reads the next batch; leaves the names of those that have some.
    fn read(&mut self, names: &mut [u32]) -> Result<(), StageError> {
        let ways = &mut self.batch[..names.len()];
        self.way.read_into(ways)?;
        for (_, name) in ways.iter().zip(names).filter(|(way, _)| **way == edge_label::NAMED) {
            *name = self.named.next()?;
        }
        Ok(())
    }

    /// The label of an edge of the batch from the node at hand.
    fn label(&self, at: usize, name: u32) -> u32 {
        match self.batch[at] {
            edge_label::NAMED => name,
            edge_label::INDEX => label::INDEX,
            position => {
                let start = self.start[..].get(self.class.index()).map_or(u64::MAX, |&start| start);
                let name = self.names[..].get((start as usize).saturating_add(position.into()));
                name.map_or(label::NONE, |name| name.0)
            }
        }
    }
}

/// The edges in their order, as far as they matter here.
struct Edges {
    targets: ColumnReader<NodeId>,
    details: Details,
    to: Vec<NodeId>,
    kind: Vec<u8>,
    name: Vec<u32>,
    flags: Vec<u8>,
}

impl Edges {
    fn open(facts: &Facts, scratch: &Scratch) -> Result<Self, StageError> {
        let details = match facts.follows_essential {
            true if scratch.has(columns::ESSENTIAL_LABEL) => Details::Ways(Ways::open(scratch)?),
            true => Details::Nothing,
            false => Details::All(
                ColumnReader::open(scratch, columns::EDGE_KIND)?,
                ColumnReader::open(scratch, columns::EDGE_NAME)?,
                ColumnReader::open(scratch, columns::EDGE_FLAGS)?,
            ),
        };
        Ok(Self {
            targets: ColumnReader::open(
                scratch,
                if facts.follows_essential { columns::ESSENTIAL_TO } else { columns::EDGE_TO },
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
        match &mut self.details {
            Details::All(kinds, names, flags) => {
                kinds.read_into(&mut self.kind[..count])?;
                names.read_into(&mut self.name[..count])?;
                flags.read_into(&mut self.flags[..count])?;
            }
            Details::Ways(ways) => ways.read(&mut self.name[..count])?,
            Details::Nothing => {}
        }
        Ok(count)
    }

    /// Goes on to the edges of the next node.
    #[inline]
    fn enter(&mut self) -> Result<(), StageError> {
        if let Details::Ways(ways) = &mut self.details {
            ways.class = ways.classes.next()?;
        }
        Ok(())
    }

    fn label(&self, facts: &Facts, at: usize) -> u32 {
        if let Details::Ways(ways) = &self.details {
            ways.label(at, self.name[at])
        } else if let Details::Nothing = &self.details {
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
    links: &mut impl WriteAt<Link>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let mut distance = ColumnReader::open(scratch, columns::NODE_DISTANCE)?;
    let mut parent = ColumnWriter::create(scratch, columns::PATH_PARENT)?;
    let mut labels = ColumnWriter::create(scratch, columns::PATH_LABEL)?;
    let mut numbers = Numbers::open(scratch)?;
    for node in 0..facts.node_count as usize {
        let link = links.get(node)?;
        parent.push(link.from)?;
        labels.push(if distance.next()? == NO_DISTANCE { label::NO_PATH } else { numbers.label(link.label) })?;
        if node.is_multiple_of(1 << 16) {
            context.check()?;
        }
    }
    parent.finish()?;
    labels.finish().map(drop)
}

/// Labels that were looked at last, as a power of two.
const RECENT: usize = 1 << 14;

/// Names that are numbers: positions in a part of the runtime, of which there may be as many as there are objects.
struct Numbers {
    strings: StringTable,
    /// Labels that are known, and what they become.
    recent: Vec<(u32, u32)>,
}

impl Numbers {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        let strings = StringTable::open(scratch, STRINGS)?;
        Ok(Self { strings, recent: vec![(label::NONE, label::NONE); RECENT] })
    }

    /// The mark of all numbers for a name that is one; any other label as it is.
    #[inline]
    fn label(&mut self, name: u32) -> u32 {
        let recent = &mut self.recent[name as usize % RECENT];
        if recent.0 != name {
            let is_name = (name as usize) < self.strings.len();
            let text = if is_name { self.strings.get(name as usize) } else { b"" };
            let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
            *recent = (name, if is_number { label::INDEX } else { name });
        }
        recent.1
    }
}
