//! Stage `shortest paths`: the parent of every node in a breadth-first tree, and the label of the edge from it.
//!
//! * Computes: for every node that has a distance and is not a seed, a node whose distance is one less and that has
//!   an edge to it that distances follow. Where paths avoid some edges, only nodes that no other path reaches have one
//!   of these, or a node of this kind, before them. Of several edges the one with the least kind is chosen, then the one with
//!   the least source, then the first. The label of the edge is its name; all numeric names share one mark, and so do
//!   all entries of weak maps, whose names contain ids.
//! * Input: all edges; if distances follow essential edges only, the essential edges, with their labels where the
//!   reader of the format wrote some.
//! * Resident memory: 13 bytes per node (distance 4, best edge so far 9), paged where the budget does not allow it.
//! * Passes over disk: one over the edges.
//! * Worst case: linear in nodes and edges.
//! * Fails when: the budget is too small.
//! * Determinism: one thread; the order above is total.
//! * Reference: none needed; any breadth-first tree is valid, and this one depends on the graph only.

use bytemuck::{Pod, Zeroable};
use heaplake_kit::access::{bits_per_node, column, document, per_node, texts};
use heaplake_kit::array_plan::{filled, lookup};
use heaplake_kit::chains::NumericNames;
use heaplake_kit::{
    ArrayPlan, Bitset, ColumnMap, ColumnReader, ColumnWriter, Context, Job, ReadAt, Scratch, Stage, StageError, Stats,
    WriteAt, on_resident,
};
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, Facts, NO_DISTANCE, STRINGS, documents, edge_flags, edge_label};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "shortest paths",
    version: 4,
    when: |setting| setting.chains(),
    reads: &[
        document(documents::FACTS),
        texts(STRINGS),
        column(columns::NODE_DISTANCE),
        column(columns::ESSENTIAL_DEGREE).when(|setting| setting.follows_essential),
        column(columns::ESSENTIAL_TO).when(|setting| setting.follows_essential),
        column(columns::ESSENTIAL_LABEL).when(|setting| setting.follows_essential).if_any(),
        column(columns::ESSENTIAL_NAME).when(|setting| setting.follows_essential).if_any(),
        column(columns::CLASS_LABEL).when(|setting| setting.follows_essential).if_any(),
        column(columns::CLASS_LABEL_START).when(|setting| setting.follows_essential).if_any(),
        column(columns::NODE_CLASS).when(|setting| setting.follows_essential).if_any(),
        column(columns::AVOIDED_EDGE).when(|setting| setting.follows_essential).if_any(),
        column(columns::NODE_AVOIDED).when(|setting| setting.follows_essential).if_any(),
        column(columns::NODE_EDGE_COUNT).when(|setting| !setting.follows_essential),
        column(columns::EDGE_KIND).when(|setting| !setting.follows_essential),
        column(columns::EDGE_NAME).when(|setting| !setting.follows_essential),
        column(columns::EDGE_TO).when(|setting| !setting.follows_essential),
        column(columns::EDGE_FLAGS).when(|setting| !setting.follows_essential),
    ],
    writes: &[column(columns::PATH_PARENT), column(columns::PATH_LABEL)],
    arrays: &[&[per_node::<i32>(), per_node::<u8>(), per_node::<Link>()]],
    fixed: 8 << 20,
    least: &[bits_per_node(1)],
    passes: "edges once",
    run,
    ..Stage::NEW
};

/// Edges per batch. The targets of a batch are prefetched before they are used.
const BATCH: usize = 1 << 14;
const AHEAD: usize = 16;

/// Greater than all kinds: no edge yet. The last of 256 kinds would be taken for none, but no format has so many.
const NO_KIND: u8 = u8::MAX;

/// The best edge to a node found so far.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Link {
    from: NodeId,
    label: u32,
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let facts = &job.facts()?;
    let nodes = facts.node_count as usize;
    job.context.progress.begin(STAGE.name, facts.node_count);
    let late = Late::open(job.scratch, job.context)?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (mut distance, mut kinds, mut links) = plan.make((
        lookup(columns::NODE_DISTANCE),
        filled(nodes, NO_KIND),
        filled(nodes, Link { from: NodeId::NONE, label: label::NONE }),
    ))?;
    on_resident!(distance, kinds, links => search(facts, &late, (distance, kinds, links), job))?;
    write(facts, &mut links, job)?;
    job.context.progress.end();
    Ok(Stats { rows: facts.node_count, spilled_bytes: plan.spilled_bytes() })
}

/// Visits every edge.
fn search(
    facts: &Facts,
    late: &Late,
    (mut distance, mut best, mut links): (impl ReadAt<i32>, impl WriteAt<u8>, impl WriteAt<Link>),
    job: &Job<'_>,
) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let mut degree = ColumnReader::open(
        scratch,
        if facts.follows_essential { columns::ESSENTIAL_DEGREE } else { columns::NODE_EDGE_COUNT },
    )?;
    let mut edges = Edges::open(facts, scratch)?;
    // The source of the current edges, how many of them are left, and its distance.
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
            if distance.get(to)? != far + 1 || !late.may_follow(next - 1, edges.flags[at], to) {
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

/// The nodes that only paths over edges to avoid reach; nothing where there are no such edges.
struct Late(Option<Bitset>);

impl Late {
    fn open(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        if !scratch.has(columns::NODE_AVOIDED) {
            return Ok(Self(None));
        }
        let mut column = ColumnReader::open(scratch, columns::NODE_AVOIDED)?;
        let nodes = column.remaining() as usize;
        let mut late = Bitset::new(&context.budget, "shortest paths: late nodes", nodes)?;
        for node in 0..nodes {
            if column.next()? != 0 {
                late.insert(node);
            }
        }
        Ok(Self(Some(late)))
    }

    /// Whether a path may have this edge.
    #[inline]
    fn may_follow(&self, from: u32, flags: u8, to: usize) -> bool {
        match &self.0 {
            None => true,
            Some(late) => late.contains(to) || (flags & edge_flags::AVOIDED == 0 && !late.contains(from as usize)),
        }
    }
}

/// The edges that paths avoid, as they come.
struct AvoidedEdges {
    edges: Option<ColumnReader<u64>>,
    /// The next one, and the next edge of all.
    next: u64,
    position: u64,
}

impl AvoidedEdges {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        let edges = match scratch.has(columns::AVOIDED_EDGE) {
            true => Some(ColumnReader::open(scratch, columns::AVOIDED_EDGE)?),
            false => None,
        };
        let mut all = Self { edges, next: 0, position: 0 };
        all.advance().map(|()| all)
    }

    fn advance(&mut self) -> Result<(), StageError> {
        self.next = match &mut self.edges {
            Some(edges) if edges.remaining() > 0 => edges.next()?,
            _ => u64::MAX,
        };
        Ok(())
    }

    /// Marks those among the next edges, all of which are followed.
    fn mark(&mut self, flags: &mut [u8]) -> Result<(), StageError> {
        flags.fill(edge_flags::FOLLOWED);
        let end = self.position + flags.len() as u64;
        while self.next < end {
            flags[(self.next - self.position) as usize] |= edge_flags::AVOIDED;
            self.advance()?;
        }
        self.position = end;
        Ok(())
    }
}

/// The attributes of edges besides their targets.
enum Details {
    /// Kind, name and flags.
    All(Box<(ColumnReader<u8>, ColumnReader<u32>, ColumnReader<u8>)>),
    /// Every edge is followed, and labels are known.
    Labels(Box<Labels>),
    /// Every edge is followed, and labels are unknown.
    Nothing,
}

/// The labels of essential edges.
struct Labels {
    edges: ColumnReader<u8>,
    named: ColumnReader<u32>,
    /// Classes of the sources in order, and the class of the current source.
    classes: ColumnReader<ClassId>,
    class: ClassId,
    start: ColumnMap<u64>,
    names: ColumnMap<StringId>,
    batch: Vec<u8>,
}

impl Labels {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            edges: ColumnReader::open(scratch, columns::ESSENTIAL_LABEL)?,
            named: ColumnReader::open(scratch, columns::ESSENTIAL_NAME)?,
            classes: ColumnReader::open(scratch, columns::NODE_CLASS)?,
            class: ClassId::NONE,
            start: ColumnMap::uncounted(scratch, columns::CLASS_LABEL_START)?,
            names: ColumnMap::uncounted(scratch, columns::CLASS_LABEL)?,
            batch: vec![0; BATCH],
        })
    }

    /// Reads the next batch, and fills `names` for edges that have names.
    fn read(&mut self, names: &mut [u32]) -> Result<(), StageError> {
        let labels = &mut self.batch[..names.len()];
        self.edges.read_into(labels)?;
        for (_, name) in labels.iter().zip(names).filter(|(label, _)| **label == edge_label::NAMED) {
            *name = self.named.next()?;
        }
        Ok(())
    }

    /// The label of an edge of the batch that leaves the current source.
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

/// Reads the edges in order, with the attributes that this stage needs.
struct Edges {
    targets: ColumnReader<NodeId>,
    details: Details,
    to: Vec<NodeId>,
    kind: Vec<u8>,
    name: Vec<u32>,
    flags: Vec<u8>,
    avoided: AvoidedEdges,
}

impl Edges {
    fn open(facts: &Facts, scratch: &Scratch) -> Result<Self, StageError> {
        let details = match facts.follows_essential {
            true if scratch.has(columns::ESSENTIAL_LABEL) => Details::Labels(Box::new(Labels::open(scratch)?)),
            true => Details::Nothing,
            false => Details::All(Box::new((
                ColumnReader::open(scratch, columns::EDGE_KIND)?,
                ColumnReader::open(scratch, columns::EDGE_NAME)?,
                ColumnReader::open(scratch, columns::EDGE_FLAGS)?,
            ))),
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
            avoided: AvoidedEdges::open(scratch)?,
        })
    }

    /// Reads the next batch and returns its number of edges.
    fn read(&mut self) -> Result<usize, StageError> {
        let count = self.targets.remaining().min(BATCH as u64) as usize;
        self.to.clear();
        self.targets.append_to(&mut self.to, count)?;
        match &mut self.details {
            Details::All(columns) => {
                let (kinds, names, flags) = &mut **columns;
                kinds.read_into(&mut self.kind[..count])?;
                names.read_into(&mut self.name[..count])?;
                flags.read_into(&mut self.flags[..count])?;
            }
            Details::Labels(labels) => {
                labels.read(&mut self.name[..count])?;
                self.avoided.mark(&mut self.flags[..count])?;
            }
            Details::Nothing => self.avoided.mark(&mut self.flags[..count])?,
        }
        Ok(count)
    }

    /// Advances to the edges of the next node.
    #[inline]
    fn enter(&mut self) -> Result<(), StageError> {
        if let Details::Labels(labels) = &mut self.details {
            labels.class = labels.classes.next()?;
        }
        Ok(())
    }

    fn label(&self, facts: &Facts, at: usize) -> u32 {
        if let Details::Labels(labels) = &self.details {
            labels.label(at, self.name[at])
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

fn write(facts: &Facts, links: &mut impl WriteAt<Link>, job: &Job<'_>) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let mut distance = ColumnReader::open(scratch, columns::NODE_DISTANCE)?;
    let mut parent = ColumnWriter::create(scratch, columns::PATH_PARENT)?;
    let mut labels = ColumnWriter::create(scratch, columns::PATH_LABEL)?;
    let mut numbers = NumericNames::open(scratch)?;
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
