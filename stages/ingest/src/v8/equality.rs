//! Stage `equality`: the equality graph of a V8 snapshot, by which duplicates are found.
//!
//! * Computes: for each node its value and the slots whose targets are compared by value. If classes and prototypes
//!   were compared by value, every object would reach the global object and none would have a duplicate. So the
//!   targets of `map`, `__proto__` and `constructor`, those of weak edges, and all targets of kinds that belong to the
//!   engine or whose content the file does not have (hidden, code, object shape, native, symbol, closure, synthetic,
//!   `system / …`) are compared by identity: they belong to the value, with kind, name, size and the labels of all
//!   slots. Nodes of those kinds are never duplicates. `shortcut` edges do not count. The map of a string does not
//!   either: it says how V8 keeps the text, not what it is.
//! * Resident memory: a bit per node; first 5 bytes per node ([`super::survey`]). Then, where all columns are in memory, 32
//!   to 96 bytes per distinct value ([`super::equal_in_memory`]). Else 5 MiB for the slots of one node
//!   ([`super::slots`]), a byte per node for what the survey found, where numbers were captured names of 4 bytes per node,
//!   and one record per repeated value (16 bytes and 8 to 16 per slot), where the budget allows, paged where not.
//! * Passes over disk: in memory, nodes twice and edges once, or twice where numbers were captured; else nodes four times, edges three times
//!   (the last time those of nodes whose hash is repeated; without captured numbers the survey needs none), in order.
//! * Worst case: linear, times the logarithm of the number of a node's edges; those of nodes that have very many are
//!   sorted on disk where they do not fit.
//! * Fails when: the budget is too small.
//! * Determinism: input order; hashes only select, values are compared.
//! * Reference: what V8 leaves out is noted in `equal.limits`; [`super::shown`] has the list.

use super::equal_in_memory;
use super::equal_nodes::{Columns, Heap};
use super::shown::{Seen, Texts};
use super::slots::{Meaning, Slot, Slots};
use super::snapshot::{DOCUMENT, Snapshot};
use super::survey::{Survey, TRAITS};
use super::value_rules::{Edge, Node, Rules};
use heaplake_kit::access::{bits_per_node, column, document, per_node, texts};
use heaplake_kit::array_plan::{column_bytes, lookup};
use heaplake_kit::dedup::{HashPass, Records};
use heaplake_kit::{
    ArrayPlan, Bitset, ColumnReader, ColumnWriter, Context, Job, Lookup, ReadAt, Scratch, Setting, Stage, StageError,
    Stats, StringTable,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, STRING_HASH, STRINGS};

/// What the engine knows of this stage.
pub const STAGE: Stage = Stage {
    name: "equality",
    version: 4,
    when: |setting| setting.duplicates(),
    reads: &[
        document(DOCUMENT),
        texts(STRINGS),
        column(STRING_HASH),
        column(columns::NODE_KIND),
        column(columns::NODE_NAME),
        column(columns::NODE_SELF),
        column(columns::NODE_EDGE_COUNT),
        column(columns::EDGE_KIND),
        column(columns::EDGE_NAME),
        column(columns::EDGE_TO),
    ],
    writes: &[
        column(columns::EQUAL_VALUE),
        column(columns::EQUAL_DEGREE),
        column(columns::EQUAL_LIMITS),
        column(columns::EQUAL_TO).when(follows),
    ],
    // Traits and links; then names, if numbers were captured, traits, and records of repeated values.
    arrays: &[
        &[per_node::<u8>(), per_node::<u32>()],
        &[per_node::<StringId>(), per_node::<u8>(), per_node::<[u64; 4]>()],
    ],
    // What is opaque, and buffers of the hash pass.
    least: &[bits_per_node(2)],
    fixed: 16 << 20,
    shares: true,
    temporary: &[per_node::<[u32; 4]>(), per_node::<u8>()],
    passes: "nodes four times, edges three times",
    run,
    ..Stage::NEW
};

/// Whether the targets of slots are asked for.
fn follows(setting: &Setting<'_>) -> bool {
    setting.looks_into_references()
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let snapshot = Snapshot::load(scratch)?;
    let nodes = snapshot.facts.node_count;
    context.progress.begin(STAGE.name, 2 * snapshot.facts.edge_count);
    let strings = StringTable::open(scratch, STRINGS)?;
    let survey = Survey::take(&snapshot, &strings, job)?;
    let rules = Rules::new(&snapshot, &survey, scratch)?;
    if find_in_memory(&rules, &survey.opaque, &strings, job)? {
        scratch.discard(TRAITS);
        context.progress.end();
        return Ok(Stats { rows: nodes, spilled_bytes: 0 });
    }
    let graph = Graph { rules: &rules, opaque: &survey.opaque, scratch, context };
    let plan_of_names = || match rules.looks_up_names() {
        true => ArrayPlan::of(job, STAGE.name),
        false => ArrayPlan::of(job, STAGE.name).streamed(),
    };
    let name_bytes = if rules.looks_up_names() { column_bytes(scratch, columns::NODE_NAME) } else { 0 };
    let mut slots = Slots::new(&context.budget, scratch)?;
    let mut hashes = HashPass::new(nodes as u32, scratch, &context.budget)?;
    {
        let mut names = plan_of_names().one(lookup(columns::NODE_NAME))?;
        let traits = ArrayPlan::of(job, STAGE.name).one(lookup(TRAITS))?;
        let mut shape = Shape::create(&rules, &strings, traits, job)?;
        graph.each(&mut names, &mut slots, &mut hashes, &mut shape)?;
        shape.finish()?;
    }
    scratch.discard(TRAITS);
    let mut values = hashes.finish(name_bytes, context)?;
    let mut column = Values(ColumnWriter::create(scratch, columns::EQUAL_VALUE)?);
    let mut names = plan_of_names().one(lookup(columns::NODE_NAME))?;
    graph.each(&mut names, &mut slots, &mut values, &mut column)?;
    column.0.finish()?;
    context.progress.end();
    Ok(Stats { rows: nodes, spilled_bytes: values.finish(scratch) })
}

/// Finds everything where the columns are, if they are in memory; whether it did.
fn find_in_memory(rules: &Rules, opaque: &Bitset, strings: &StringTable, job: &Job<'_>) -> Result<bool, StageError> {
    let follows = follows(&job.setting);
    let Some(columns) = Columns::open(job.scratch, follows)? else { return Ok(false) };
    let heap = Heap { columns: &columns, rules, opaque, strings, follows };
    equal_in_memory::find(&heap, job.scratch, job.context)
}

/// Sees the nodes in order, each after its slots.
trait Visitor {
    /// An edge of the node that comes next, of a kind, and what it means.
    #[inline]
    fn edge(&mut self, _kind: u8, _edge: Edge, _meaning: Meaning) -> Result<(), StageError> {
        Ok(())
    }

    /// A slot of the node that comes next, in the order of labels.
    #[inline]
    fn slot(&mut self, _slot: Slot) -> Result<(), StageError> {
        Ok(())
    }

    /// A node; what is found of it, unless it is compared by identity or not wanted.
    fn node(&mut self, node: NodeId, found: Option<Found>) -> Result<(), StageError>;
}

/// What a pass finds of a node.
struct Found {
    /// The first node with its value, as far as it is known in this pass.
    value: NodeId,
    node: Node,
}

/// The first pass: for each node the slots whose targets are compared by value, and what the file leaves out.
struct Shape<'a> {
    rules: &'a Rules,
    texts: Texts<'a>,
    traits: Lookup<u8>,
    degrees: ColumnWriter<u32>,
    missing: ColumnWriter<u8>,
    /// Only where references are followed.
    to: Option<ColumnWriter<NodeId>>,
    /// Slots so far of the current node whose targets are compared by value.
    degree: u32,
    seen: Seen,
}

impl<'a> Shape<'a> {
    fn create(
        rules: &'a Rules,
        strings: &'a StringTable,
        traits: Lookup<u8>,
        job: &Job<'_>,
    ) -> Result<Self, StageError> {
        let follows = follows(&job.setting);
        Ok(Self {
            rules,
            texts: Texts::new(strings),
            traits,
            degrees: ColumnWriter::create(job.scratch, columns::EQUAL_DEGREE)?,
            missing: ColumnWriter::create(job.scratch, columns::EQUAL_LIMITS)?,
            to: follows.then(|| ColumnWriter::create(job.scratch, columns::EQUAL_TO)).transpose()?,
            degree: 0,
            seen: Seen::default(),
        })
    }

    fn finish(self) -> Result<(), StageError> {
        self.degrees.finish()?;
        self.to.map(ColumnWriter::finish).transpose()?;
        self.missing.finish().map(drop)
    }
}

impl Visitor for Shape<'_> {
    #[inline]
    fn edge(&mut self, kind: u8, edge: Edge, meaning: Meaning) -> Result<(), StageError> {
        if !self.rules.sees(kind) {
            return Ok(());
        }
        let traits = &mut self.traits;
        self.rules.see(&mut self.seen, kind, edge, meaning, |node| Ok(traits.get(node)?))
    }

    #[inline]
    fn slot(&mut self, slot: Slot) -> Result<(), StageError> {
        if let Meaning::Followed(to) = slot.meaning() {
            self.degree += 1;
            if let Some(column) = &mut self.to {
                column.push(NodeId(to))?;
            }
        }
        Ok(())
    }

    #[inline]
    fn node(&mut self, node: NodeId, found: Option<Found>) -> Result<(), StageError> {
        let seen = std::mem::take(&mut self.seen);
        let degree = std::mem::take(&mut self.degree);
        self.degrees.push(degree)?;
        let Some(Found { node: found, .. }) = found else { return self.missing.push(0) };
        let own = self.traits.get(node.index())?;
        self.missing.push(self.rules.limits(found, own, &seen, degree, &mut self.texts))
    }
}

/// The second pass: the first node with each value.
struct Values(ColumnWriter<NodeId>);

impl Visitor for Values {
    #[inline]
    fn node(&mut self, node: NodeId, found: Option<Found>) -> Result<(), StageError> {
        self.0.push(found.map_or(node, |found| found.value))
    }
}

/// What a pass looks at, beside the columns that it reads in order.
struct Graph<'a> {
    rules: &'a Rules,
    opaque: &'a Bitset,
    scratch: &'a Scratch,
    context: &'a Context<'a>,
}

impl Graph<'_> {
    /// Goes through all nodes: hands the values of those that are wanted to `records`, and all of them to `visitor`.
    fn each(
        &self,
        names: &mut Lookup<StringId>,
        slots: &mut Slots<'_>,
        records: &mut impl Records,
        visitor: &mut impl Visitor,
    ) -> Result<(), StageError> {
        let Self { rules, opaque, scratch, context } = *self;
        let mut input = Input::open(scratch)?;
        let mut edges = 0;
        for ordinal in 0..input.kinds.remaining() as u32 {
            let (node, count) = input.node()?;
            edges += u64::from(count) + 1;
            if edges >= 1 << 18 {
                context.step(std::mem::take(&mut edges))?;
            }
            if opaque.contains(ordinal as usize) || !records.begin(ordinal)? {
                input.skip(count)?;
                visitor.node(NodeId(ordinal), None)?;
                continue;
            }
            slots.begin(count)?;
            for number in 1..=count {
                if number.is_multiple_of(1 << 18) {
                    context.check()?;
                }
                let edge = input.edge()?;
                let meaning = rules.slot(node.kind, edge, opaque, || Ok(names.get(edge.to.index())?))?;
                visitor.edge(node.kind, edge, meaning)?;
                if let Some(slot) = Slot::new(edge.kind, edge.name, meaning) {
                    slots.push(slot)?;
                }
            }
            slots.sort()?;
            records.word(u64::from(node.name.0) << 8 | u64::from(node.kind))?;
            records.word(node.bytes)?;
            slots.each(|slot| {
                records.word(slot.label())?;
                if let Meaning::Identity(value) | Meaning::Text(value) = slot.meaning() {
                    records.word(value.into())?;
                }
                visitor.slot(slot)
            })?;
            visitor.node(NodeId(ordinal), Some(Found { value: NodeId(records.end()?), node }))?;
        }
        Ok(())
    }
}

/// The columns that are read in order.
struct Input {
    kinds: ColumnReader<u8>,
    names: ColumnReader<StringId>,
    sizes: ColumnReader<u64>,
    counts: ColumnReader<u32>,
    edge_kinds: ColumnReader<u8>,
    edge_names: ColumnReader<u32>,
    targets: ColumnReader<NodeId>,
}

impl Input {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            kinds: ColumnReader::open(scratch, columns::NODE_KIND)?,
            names: ColumnReader::open(scratch, columns::NODE_NAME)?,
            sizes: ColumnReader::open(scratch, columns::NODE_SELF)?,
            counts: ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?,
            edge_kinds: ColumnReader::open(scratch, columns::EDGE_KIND)?,
            edge_names: ColumnReader::open(scratch, columns::EDGE_NAME)?,
            targets: ColumnReader::open(scratch, columns::EDGE_TO)?,
        })
    }

    /// The next node, and the number of its edges, which come next.
    #[inline]
    fn node(&mut self) -> Result<(Node, u32), StageError> {
        let node = Node { kind: self.kinds.next()?, name: self.names.next()?, bytes: self.sizes.next()? };
        Ok((node, self.counts.next()?))
    }

    #[inline]
    fn edge(&mut self) -> Result<Edge, StageError> {
        Ok(Edge { kind: self.edge_kinds.next()?, name: self.edge_names.next()?, to: self.targets.next()? })
    }

    fn skip(&mut self, edges: u32) -> Result<(), StageError> {
        self.edge_kinds.skip(edges.into())?;
        self.edge_names.skip(edges.into())?;
        self.targets.skip(edges.into())
    }
}
