//! Stage `equality`: the equality graph of a V8 snapshot, by which duplicates are found.
//!
//! * Computes: for each node its value and the slots whose targets are looked into. If classes and prototypes were
//!   looked into, every object would reach the global object and none had a duplicate. So the targets of `map`,
//!   `__proto__` and `constructor`, and all targets of a kind that stands for the engine or for what cannot be seen (hidden,
//!   code, object shape, native, symbol, closure, synthetic, `system / …`) are compared by identity: they belong to the
//!   value, with kind, name, size and the labels of all slots. Nodes of those kinds are no duplicates of anything. `weak` and
//!   `shortcut` edges do not count. The map of a string does not either: it says how V8 keeps the text, not what it is.
//! * Reads: `node.{kind,name,self,edge_count}`, `edge.{kind,name,to}`, strings.
//! * Writes: `equal.{value,degree,limits}`, and `equal.to` where references are to be looked into.
//! * Resident memory: a bit per node and the slots of one node; numbers and names 4 bytes each per node and one record per
//!   repeated value (16 bytes and 8 to 16 per slot), where the budget allows, paged where not.
//! * Passes over disk: nodes three times, edges twice (the second time those of nodes whose hash is repeated), in order.
//! * Worst case: linear, times the logarithm of the number of a node's edges.
//! * Fails when: the budget is too small.
//! * Determinism: input order; hashes only propose, comparison decides.
//! * Reference: what V8 leaves out is noted in `equal.limits`: small integers and the contents of heap numbers, unless they
//!   were captured; the rest of strings of 1,024 characters; bigints, dates, and arrays of unboxed numbers or bytes.

use super::{Snapshot, names};
use heaplake_kit::array::column_bytes;
use heaplake_kit::firsts::{Proposals, Records};
use heaplake_kit::{
    ArrayPlan, Bitset, ColumnReader, ColumnWriter, Context, Lookup, ReadAt, Scratch, StageError, StageInfo, Stats,
    StringTable,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::run::Options;
use heaplake_schemas::scratch::{self as columns, STRINGS, limits};

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "equality",
    version: 3,
    bytes_per_node: 40,
    bytes_per_edge: 0,
    least_bits_per_node: 2,
    least_fixed: 16 << 20,
    scratch_per_node: 25,
    scratch_per_edge: 4,
    passes: "nodes three times, edges twice",
};

/// Characters that V8 writes of a string, unless it was told otherwise.
const CUT: usize = 1024;

/// Bytes of an array without elements.
const ARRAY_HEADER: u64 = 16;

/// Writes the equality graph.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let snapshot = Snapshot::load(scratch)?;
    let nodes = snapshot.facts.node_count;
    context.progress.begin(STAGE.name, 2 * snapshot.facts.edge_count);
    let strings = StringTable::open(scratch, STRINGS)?;
    let mut rules = Rules::new(&snapshot, scratch)?;
    let opaque = rules.survey(&strings, nodes as usize, scratch, context)?;
    let graph = Graph { rules: &rules, opaque: &opaque, scratch, context };
    let name_bytes = column_bytes(scratch, columns::NODE_NAME);
    let names = || ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[name_bytes]).lookup(columns::NODE_NAME);
    let mut proposals = Proposals::new(nodes as u32, scratch, &context.budget)?;
    slots(&graph, &mut names()?, &mut proposals, &strings)?;
    let mut firsts = proposals.finish(name_bytes, context)?;
    let mut values = ColumnWriter::create(scratch, columns::EQUAL_VALUE)?;
    graph.each(&mut names()?, &mut firsts, |node, found| values.push(found.map_or(node, |found| found.value)))?;
    values.finish()?;
    context.progress.end();
    Ok(Stats { rows: nodes, spilled_bytes: firsts.spilled_bytes() })
}

/// The first pass: of each node what is looked into, and what the file does not tell.
fn slots(
    graph: &Graph<'_>,
    names: &mut Lookup<StringId>,
    records: &mut impl Records,
    strings: &StringTable,
) -> Result<(), StageError> {
    let Graph { rules, scratch, .. } = *graph;
    let mut degrees = ColumnWriter::create(scratch, columns::EQUAL_DEGREE)?;
    let mut missing = ColumnWriter::create(scratch, columns::EQUAL_LIMITS)?;
    let options: Options = scratch.read_document(columns::documents::OPTIONS)?;
    let mut to =
        options.looks_into_references().then(|| ColumnWriter::create(scratch, columns::EQUAL_TO)).transpose()?;
    graph.each(names, records, |_, found| {
        let Some(Found { node, slots, .. }) = found else {
            degrees.push(0)?;
            return missing.push(0);
        };
        let followed = slots.iter().filter(|slot| slot.meaning == Meaning::Followed);
        degrees.push(followed.clone().count() as u32)?;
        if let Some(to) = &mut to {
            followed.into_iter().try_for_each(|slot| to.push(slot.to))?;
        }
        missing.push(rules.limits(node, slots, strings))
    })?;
    degrees.finish()?;
    to.map(ColumnWriter::finish).transpose()?;
    missing.finish().map(drop)
}

/// What kinds and names mean.
struct Rules {
    /// By node kind: nodes that are compared by identity.
    opaque: Vec<bool>,
    /// By node kind: strings of all sorts.
    text: Vec<bool>,
    /// By edge kind: edges that do not count.
    skipped: Vec<bool>,
    string: Option<u8>,
    sliced: Option<u8>,
    number: Option<u8>,
    bigint: Option<u8>,
    array: Option<u8>,
    object: Option<u8>,
    internal: Option<u8>,
    element: Option<u8>,
    hidden_edge: Option<u8>,
    map: u32,
    /// `__proto__` and `constructor`.
    inherited: [u32; 2],
    value: u32,
    date: StringId,
    smi: StringId,
    /// Whether small integers are in the file.
    captured: bool,
}

impl Rules {
    fn new(snapshot: &Snapshot, scratch: &Scratch) -> Result<Self, StageError> {
        const OPAQUE: [&str; 7] = ["hidden", "code", "object shape", "native", "symbol", "closure", "synthetic"];
        const TEXT: [&str; 3] = ["string", "concatenated string", "sliced string"];
        let header = &snapshot.header;
        let of = |types: &[String], names: &[&str]| types.iter().map(|name| names.contains(&name.as_str())).collect();
        let ids = names::find(scratch, &["map", "__proto__", "constructor", "value", "Date", "smi number"])?;
        Ok(Self {
            opaque: of(&header.node_types, &OPAQUE),
            text: of(&header.node_types, &TEXT),
            skipped: of(&header.edge_types, &["weak", "shortcut"]),
            string: header.node_type("string"),
            sliced: header.node_type("sliced string"),
            number: header.node_type("number"),
            bigint: header.node_type("bigint"),
            array: header.node_type("array"),
            object: header.node_type("object"),
            internal: header.edge_type("internal"),
            element: header.edge_type("element"),
            hidden_edge: header.edge_type("hidden"),
            map: ids[0].0,
            inherited: [ids[1].0, ids[2].0],
            value: ids[3].0,
            date: ids[4],
            smi: ids[5],
            captured: false,
        })
    }

    /// The nodes that are compared by identity.
    fn survey(
        &mut self,
        strings: &StringTable,
        nodes: usize,
        scratch: &Scratch,
        context: &Context<'_>,
    ) -> Result<Bitset, StageError> {
        let mut opaque = Bitset::new(&context.budget, "nodes compared by identity", nodes)?;
        let mut kinds = ColumnReader::open(scratch, columns::NODE_KIND)?;
        let mut names = ColumnReader::open(scratch, columns::NODE_NAME)?;
        let mut last = (StringId::NONE, false);
        for node in 0..nodes {
            let (kind, name) = (kinds.next()?, names.next()?);
            if !self.text[kind as usize] && last.0 != name {
                last = (name, strings.get(name.index()).starts_with(b"system / "));
            }
            if self.opaque[kind as usize] || (!self.text[kind as usize] && last.1) {
                opaque.insert(node);
            }
            self.captured |= Some(kind) == self.number && name == self.smi;
        }
        Ok(opaque)
    }

    /// What an edge means for the equality of its source.
    #[inline]
    fn slot(
        &self,
        kind: u8,
        edge: Edge,
        opaque: &Bitset,
        names: impl FnOnce() -> Result<StringId, StageError>,
    ) -> Result<Meaning, StageError> {
        let named = Some(edge.kind) != self.element && Some(edge.kind) != self.hidden_edge;
        if self.skipped[edge.kind as usize] {
            return Ok(Meaning::Nothing);
        }
        if named && edge.name == self.map && Some(edge.kind) == self.internal {
            return Ok(if self.text[kind as usize] { Meaning::Nothing } else { Meaning::Identity(edge.to.0) });
        }
        if Some(kind) == self.number && named && edge.name == self.value {
            return Ok(Meaning::Text(names()?.0));
        }
        let identity = opaque.contains(edge.to.index()) || (named && self.inherited.contains(&edge.name));
        Ok(if identity { Meaning::Identity(edge.to.0) } else { Meaning::Followed })
    }

    /// What the file does not tell of a node.
    fn limits(&self, node: Node, slots: &[Slot], strings: &StringTable) -> u8 {
        let is = |kind: Option<u8>| Some(node.kind) == kind;
        if self.text[node.kind as usize] {
            let cut = is(self.string) && node.bytes >= CUT as u64 && is_cut(strings.get(node.name.index()));
            return if cut {
                limits::TEXTS
            } else if is(self.sliced) {
                limits::CONTENTS
            } else {
                0
            };
        }
        if is(self.number) {
            let captured = slots.iter().any(|slot| matches!(slot.meaning, Meaning::Text(_)));
            return if captured { 0 } else { limits::CONTENTS };
        }
        let no_elements =
            || !slots.iter().any(|slot| Some(slot.kind) == self.element || Some(slot.kind) == self.hidden_edge);
        let unseen = is(self.bigint)
            || (is(self.object) && node.name == self.date)
            || (is(self.array) && node.bytes > ARRAY_HEADER && no_elements());
        (if unseen { limits::CONTENTS } else { 0 }) | (if self.captured { 0 } else { limits::NUMBERS })
    }
}

/// Whether a text is as long as those that V8 cut.
fn is_cut(text: &[u8]) -> bool {
    // A character of four bytes is two of V8's; bytes that continue one do not begin another.
    let units = |byte: &u8| if *byte >= 0xf0 { 2 } else { usize::from(byte & 0xc0 != 0x80) };
    text.len() >= CUT && text.iter().map(units).sum::<usize>() == CUT
}

#[derive(Clone, Copy)]
struct Node {
    kind: u8,
    name: StringId,
    bytes: u64,
}

#[derive(Clone, Copy)]
struct Edge {
    kind: u8,
    name: u32,
    to: NodeId,
}

/// What an edge means for the equality of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// Nothing.
    Nothing,
    /// Its target is compared by identity.
    Identity(u32),
    /// Its target is a text, which counts by its content.
    Text(u32),
    /// Its target is looked into.
    Followed,
}

/// An edge that counts.
#[derive(Clone, Copy)]
struct Slot {
    kind: u8,
    name: u32,
    meaning: Meaning,
    to: NodeId,
}

/// Brings slots into the order of their labels; those with one label stay in that of the file.
fn sort(slots: &mut [Slot]) {
    if !slots.is_sorted_by_key(|slot| (slot.kind, slot.name)) {
        slots.sort_by_key(|slot| (slot.kind, slot.name));
    }
}

/// What a pass looks at, beside the columns that it reads in order.
struct Graph<'a> {
    rules: &'a Rules,
    opaque: &'a Bitset,
    scratch: &'a Scratch,
    context: &'a Context<'a>,
}

/// What a pass finds of a node.
struct Found<'a> {
    /// The first node with its value, as far as it is known in this pass.
    value: NodeId,
    node: Node,
    slots: &'a [Slot],
}

impl Graph<'_> {
    /// Goes through all nodes: hands the values of those that are wanted to `records`, and each of those to `done`; of the
    /// others it gets nothing but the number.
    fn each(
        &self,
        names: &mut Lookup<StringId>,
        records: &mut impl Records,
        mut done: impl FnMut(NodeId, Option<Found<'_>>) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let Self { rules, opaque, scratch, context } = *self;
        let mut kinds = ColumnReader::open(scratch, columns::NODE_KIND)?;
        let mut node_names = ColumnReader::open(scratch, columns::NODE_NAME)?;
        let mut sizes = ColumnReader::open(scratch, columns::NODE_SELF)?;
        let mut counts = ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?;
        let mut edge_kinds = ColumnReader::open(scratch, columns::EDGE_KIND)?;
        let mut edge_names = ColumnReader::open(scratch, columns::EDGE_NAME)?;
        let mut targets = ColumnReader::open(scratch, columns::EDGE_TO)?;
        let mut slots = Vec::new();
        let mut edges = 0;
        for ordinal in 0..kinds.remaining() as u32 {
            let node = Node { kind: kinds.next()?, name: node_names.next()?, bytes: sizes.next()? };
            let count = counts.next()?;
            edges += u64::from(count) + 1;
            if edges >= 1 << 18 {
                context.step(std::mem::take(&mut edges))?;
            }
            if opaque.contains(ordinal as usize) || !records.begin(ordinal)? {
                edge_kinds.skip(count.into())?;
                edge_names.skip(count.into())?;
                targets.skip(count.into())?;
                done(NodeId(ordinal), None)?;
                continue;
            }
            slots.clear();
            for _ in 0..count {
                let edge = Edge { kind: edge_kinds.next()?, name: edge_names.next()?, to: targets.next()? };
                let meaning = rules.slot(node.kind, edge, opaque, || Ok(names.get(edge.to.index())?))?;
                if meaning != Meaning::Nothing {
                    slots.push(Slot { kind: edge.kind, name: edge.name, meaning, to: edge.to });
                }
            }
            sort(&mut slots);
            records.word(u64::from(node.name.0) << 8 | u64::from(node.kind))?;
            records.word(node.bytes)?;
            for slot in &slots {
                let label = u64::from(slot.name) << 10 | u64::from(slot.kind) << 2;
                match slot.meaning {
                    Meaning::Identity(to) => {
                        records.word(label | 1)?;
                        records.word(to.into())?;
                    }
                    Meaning::Text(name) => {
                        records.word(label | 2)?;
                        records.word(name.into())?;
                    }
                    Meaning::Followed | Meaning::Nothing => records.word(label | 3)?,
                }
            }
            done(NodeId(ordinal), Some(Found { value: NodeId(records.end()?), node, slots: &slots }))?;
        }
        Ok(())
    }
}
