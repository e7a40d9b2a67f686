//! Stage `holds`: which edges keep their target alive, and what the graph stages need to know of the others.
//!
//! * Computes: the holding ("essential") edges; for every edge whether distances follow it; in-degrees; the nodes that
//!   nothing holds; where distances start.
//! * Reads: `node.{kind,name,id,edge_count}`, `edge.{kind,name,to}`, the names of weak-map entries.
//! * Writes: `edge.flags`, `paired.*`, `essential.{degree,to,orphan}`, `node.retainer_count`, `distance.seed`.
//! * Resident memory: 4 bytes per node (in-degrees) where the budget allows, paged where not, and 2 bits; with pages,
//!   [`super::pages`] before that; some 64 bytes per weak-map entry name; [`BLOCK_BYTES`] for each block under way.
//! * Passes over disk: one over nodes and edges.
//! * Worst case: linear.
//! * Fails when: the budget is too small.
//! * Determinism: threads judge blocks of edges, which are written in input order.
//! * Reference: Chrome DevTools, "essential edges", and its filter for distances. Dropped are weak edges, self edges,
//!   the edge from a weak map's table to a value (the key's edge stays), and from any node but the root: shortcuts, and
//!   edges from what no page owns to what a page owns.

use super::header::Header;
use super::read::{EPHEMERON_SHARED, EPHEMERON_STRING, EPHEMERON_TABLE};
use super::{Snapshot, names, pages};
use heaplake_kit::{
    Array, ArrayPlan, Bitset, ColumnMap, ColumnReader, ColumnWriter, Context, OrderedPool, Scratch, StageError,
    StageInfo, Stats, StringTable, WriteAt,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, DistanceSeed, STRINGS, edge_flags};
use rustc_hash::FxHashMap;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "holds",
    version: 1,
    bytes_per_node: 4,
    bytes_per_edge: 0,
    least_bits_per_node: 2,
    least_fixed: 8 << 20,
    scratch_per_node: 8,
    scratch_per_edge: 5,
    passes: "nodes and edges once",
};

/// Most edges of a block, and most nodes.
const BLOCK_EDGES: u32 = 1 << 15;
const BLOCK_NODES: usize = 1 << 14;

/// Bytes of a block.
const BLOCK_BYTES: u64 = 22 * BLOCK_EDGES as u64 + (BLOCK_NODES * size_of::<Part>()) as u64;

/// Most threads that are of use: by then reading and writing, on one thread, take longer.
const MOST_THREADS: usize = 8;

/// Distance of the root, and so the least of everything that only the runtime itself holds.
const SYSTEM_DISTANCE: i32 = 100_000_000;

/// Sorts the edges out.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let mut snapshot = Snapshot::load(scratch)?;
    let (header, facts) = (&snapshot.header, &mut snapshot.facts);
    context.progress.begin(STAGE.name, facts.edge_count);
    let ids = names::find(
        scratch,
        &["(Document DOM trees)", "system / NativeContext", "sloppy_function_map", "(map descriptors)"],
    )?;
    let (document_trees, native_context, sloppy_map, map_descriptors) = (ids[0], ids[1], ids[2], ids[3]);
    facts.distance_seeds = distance_seeds(header, document_trees, scratch)?;
    let page_owned = pages::owned(header, document_trees, scratch, context)?;
    let rules = Rules {
        is_weak: kind_is(header.edge_type("weak")),
        is_shortcut: kind_is(header.edge_type("shortcut")),
        is_internal: kind_is(header.edge_type("internal")),
        is_indexed: facts.edge_kinds.iter().map(|kind| kind.indexed).collect(),
        hidden: header.node_type("hidden"),
        array: header.node_type("array"),
        native_context,
        sloppy_map,
        map_descriptors,
        root: header.root as u32,
        page_owned,
        ephemerons: Ephemerons::load(scratch, context)?,
        strings: StringTable::open(scratch, STRINGS)?,
    };
    let nodes = facts.node_count as usize;
    let mut held = Bitset::new(&context.budget, "held nodes", nodes)?;
    let pool = OrderedPool::plan(context, "holds: edges under way", MOST_THREADS, BLOCK_BYTES)?;
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[nodes as u64 * 4]);
    let mut retainers = room.array::<u32>(nodes, 0)?;
    let mut input = Input::open(scratch)?;
    let mut output = Output::create(scratch)?;
    match &mut retainers {
        Array::Resident(retainers) => pool.run(
            context,
            |block| input.fill(block),
            || |block: &mut Block| block.sort_out(&rules),
            |block| output.write(block, retainers, &mut held, context),
        ),
        retainers @ Array::Paged(_) => pool.run(
            context,
            |block| input.fill(block),
            || |block: &mut Block| block.sort_out(&rules),
            |block| output.write(block, retainers, &mut held, context),
        ),
    }?;
    facts.essential_edge_count = output.finish()?;
    write_orphans(header, &held, nodes, scratch)?;
    retainers.write_to(scratch, columns::NODE_RETAINER_COUNT)?;
    facts.root_count = pages::RootEdges::open(header, scratch)?.count();
    let edges = facts.edge_count;
    snapshot.save(scratch)?;
    context.progress.end();
    Ok(Stats { rows: edges, spilled_bytes: room.spilled_bytes() })
}

fn kind_is(kind: Option<u8>) -> [bool; 256] {
    std::array::from_fn(|at| Some(at as u8) == kind)
}

/// What decides over edges.
struct Rules {
    is_weak: [bool; 256],
    is_shortcut: [bool; 256],
    is_internal: [bool; 256],
    is_indexed: Vec<bool>,
    hidden: Option<u8>,
    array: Option<u8>,
    native_context: StringId,
    sloppy_map: StringId,
    map_descriptors: StringId,
    root: u32,
    page_owned: Option<Bitset>,
    ephemerons: Ephemerons,
    strings: StringTable,
}

impl Rules {
    /// Flags of an edge, and the number of its pair if it has one.
    #[inline]
    fn judge(&self, source: &Part, kind: u8, name: u32, to: NodeId) -> (u8, Option<u32>) {
        if self.is_weak[kind as usize] {
            return (0, None);
        }
        let is_root = source.node == self.root;
        let ephemeron = if self.is_internal[kind as usize] { self.ephemerons.get(name) } else { None };
        // Edges into a page count only from inside it, or from the root.
        let enters_page =
            |owned: &Bitset| !is_root && owned.contains(to.index()) && !owned.contains(source.node as usize);
        let dropped = to.0 == source.node
            || (self.is_shortcut[kind as usize] && !is_root)
            || ephemeron.is_some_and(|(table, _)| table == source.id)
            || self.page_owned.as_ref().is_some_and(enters_page);
        let holds = if dropped { 0 } else { edge_flags::ESSENTIAL };
        match source.special {
            Special::MapDescriptors if !self.is_descriptor(kind, name) => (holds | edge_flags::FOLLOWED, None),
            Special::NativeContext if !self.is_indexed[kind as usize] && StringId(name) == self.sloppy_map => {
                (holds, None)
            }
            Special::MapDescriptors => (holds, None),
            _ => match ephemeron {
                Some((_, pair)) => (holds | edge_flags::FOLLOWED | edge_flags::PAIRED, Some(pair)),
                None => (holds | edge_flags::FOLLOWED, None),
            },
        }
    }

    /// Every third entry of an array of map descriptors is a descriptor, which may belong to another map.
    fn is_descriptor(&self, kind: u8, name: u32) -> bool {
        let index = if self.is_indexed[kind as usize] {
            Some(i64::from(name))
        } else {
            leading_integer(self.strings.get(name as usize))
        };
        index.is_some_and(|index| index >= 2 && index % 3 == 1)
    }

    fn special(&self, kind: u8, name: StringId) -> Special {
        if Some(kind) == self.hidden && name == self.native_context {
            Special::NativeContext
        } else if Some(kind) == self.array && name == self.map_descriptors {
            Special::MapDescriptors
        } else {
            Special::No
        }
    }
}

/// Nodes with a rule of their own for distances.
#[derive(Clone, Copy)]
enum Special {
    No,
    NativeContext,
    MapDescriptors,
}

/// A node, or as many of its edges as a block has room for.
struct Part {
    node: u32,
    kind: u8,
    name: StringId,
    id: u64,
    special: Special,
    /// Its edges in the block, and then those of them that hold.
    edges: u32,
    /// Whether the block has the node's last edge.
    ends: bool,
}

/// Edges, many at a time, with the nodes that they leave.
#[derive(Default)]
struct Block {
    parts: Vec<Part>,
    kinds: Vec<u8>,
    names: Vec<u32>,
    to: Vec<NodeId>,
    flags: Vec<u8>,
    holds: Vec<NodeId>,
    /// Positions in the block of the edges that belong to a pair, and the pairs.
    paired: Vec<(u32, u32)>,
}

impl Block {
    fn sort_out(&mut self, rules: &Rules) {
        self.flags.clear();
        self.holds.clear();
        self.paired.clear();
        let mut first = 0;
        for part in &mut self.parts {
            part.special = rules.special(part.kind, part.name);
            let edges = first..first + part.edges as usize;
            let held = self.holds.len();
            first = edges.end;
            for ((&kind, &name), &to) in
                self.kinds[edges.clone()].iter().zip(&self.names[edges.clone()]).zip(&self.to[edges])
            {
                let (flags, pair) = rules.judge(part, kind, name, to);
                if flags & edge_flags::ESSENTIAL != 0 {
                    self.holds.push(to);
                }
                if let Some(pair) = pair {
                    self.paired.push((self.flags.len() as u32, pair));
                }
                self.flags.push(flags);
            }
            part.edges = (self.holds.len() - held) as u32;
        }
    }
}

/// The columns that are read.
struct Input {
    node_kind: ColumnReader<u8>,
    node_name: ColumnReader<StringId>,
    node_id: ColumnReader<u64>,
    edge_count: ColumnReader<u32>,
    edge_kind: ColumnReader<u8>,
    edge_name: ColumnReader<u32>,
    edge_to: ColumnReader<NodeId>,
    node: u32,
    /// The node whose edges the last block had no room for, and how many are left.
    rest: Option<(Part, u32)>,
}

impl Input {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            node_kind: ColumnReader::open(scratch, columns::NODE_KIND)?,
            node_name: ColumnReader::open(scratch, columns::NODE_NAME)?,
            node_id: ColumnReader::open(scratch, columns::NODE_ID)?,
            edge_count: ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?,
            edge_kind: ColumnReader::open(scratch, columns::EDGE_KIND)?,
            edge_name: ColumnReader::open(scratch, columns::EDGE_NAME)?,
            edge_to: ColumnReader::open(scratch, columns::EDGE_TO)?,
            node: 0,
            rest: None,
        })
    }

    /// The next edges; false when there are none, nor nodes.
    fn fill(&mut self, block: &mut Block) -> Result<bool, StageError> {
        block.parts.clear();
        block.kinds.clear();
        block.names.clear();
        block.to.clear();
        let mut room = BLOCK_EDGES;
        while room > 0 && block.parts.len() < BLOCK_NODES {
            let (part, left) = match self.rest.take() {
                Some(rest) => rest,
                None if self.node_kind.remaining() == 0 => break,
                None => self.next_node()?,
            };
            let edges = left.min(room);
            room -= edges;
            if edges < left {
                self.rest = Some((Part { ..part }, left - edges));
            }
            block.parts.push(Part { edges, ends: edges == left, ..part });
        }
        let edges = (BLOCK_EDGES - room) as usize;
        self.edge_kind.append_to(&mut block.kinds, edges)?;
        self.edge_name.append_to(&mut block.names, edges)?;
        self.edge_to.append_to(&mut block.to, edges)?;
        Ok(!block.parts.is_empty())
    }

    fn next_node(&mut self) -> Result<(Part, u32), StageError> {
        let (node, kind, name) = (self.node, self.node_kind.next()?, self.node_name.next()?);
        let part = Part { node, kind, name, id: self.node_id.next()?, special: Special::No, edges: 0, ends: false };
        self.node += 1;
        Ok((part, self.edge_count.next()?))
    }
}

/// The columns that are written.
struct Output {
    flags: ColumnWriter<u8>,
    degrees: ColumnWriter<u32>,
    holds: ColumnWriter<NodeId>,
    paired_edge: ColumnWriter<u64>,
    paired_pair: ColumnWriter<u32>,
    /// Essential edges so far of the node that the last block did not end.
    degree: u32,
}

impl Output {
    fn create(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            flags: ColumnWriter::create(scratch, columns::EDGE_FLAGS)?,
            degrees: ColumnWriter::create(scratch, columns::ESSENTIAL_DEGREE)?,
            holds: ColumnWriter::create(scratch, columns::ESSENTIAL_TO)?,
            paired_edge: ColumnWriter::create(scratch, columns::PAIRED_EDGE)?,
            paired_pair: ColumnWriter::create(scratch, columns::PAIRED_PAIR)?,
            degree: 0,
        })
    }

    fn write(
        &mut self,
        block: &Block,
        retainers: &mut impl WriteAt<u32>,
        held: &mut Bitset,
        context: &Context<'_>,
    ) -> Result<(), StageError> {
        for &(edge, pair) in &block.paired {
            self.paired_edge.push(self.flags.len() + u64::from(edge))?;
            self.paired_pair.push(pair)?;
        }
        self.flags.extend(&block.flags)?;
        self.holds.extend(&block.holds)?;
        for part in &block.parts {
            self.degree += part.edges;
            if part.ends {
                self.degrees.push(std::mem::take(&mut self.degree))?;
            }
        }
        for to in &block.holds {
            held.insert(to.index());
        }
        for to in &block.to {
            retainers.change(to.index(), |count| *count += 1)?;
        }
        context.step(block.flags.len() as u64)
    }

    /// The number of essential edges.
    fn finish(self) -> Result<u64, StageError> {
        self.flags.finish()?;
        self.degrees.finish()?;
        self.paired_edge.finish()?;
        self.paired_pair.finish()?;
        self.holds.finish()
    }
}

/// Nodes that no essential edge enters.
fn write_orphans(header: &Header, held: &Bitset, nodes: usize, scratch: &Scratch) -> Result<(), StageError> {
    let mut orphans = ColumnWriter::create(scratch, columns::ESSENTIAL_ORPHAN)?;
    for node in (0..nodes).filter(|&node| !held.contains(node) && node as u64 != header.root) {
        orphans.push(NodeId(node as u32))?;
    }
    orphans.finish().map(drop)
}

/// The user's roots (the root's targets that are no synthetic nodes, and the document trees) at distance 1, then the
/// root itself far away, or at 0 when there is no user root.
fn distance_seeds(
    header: &Header,
    document_trees: StringId,
    scratch: &Scratch,
) -> Result<Vec<DistanceSeed>, StageError> {
    let kind = ColumnMap::open(scratch, columns::NODE_KIND, None)?;
    let name = ColumnMap::open(scratch, columns::NODE_NAME, None)?;
    let synthetic = header.node_type("synthetic");
    let mut seeds = ColumnWriter::create(scratch, columns::DISTANCE_SEED)?;
    let mut edges = pages::RootEdges::open(header, scratch)?;
    while let Some((_, to)) = edges.next()? {
        if Some(kind[to.index()]) != synthetic || name[to.index()] == document_trees {
            seeds.push(to)?;
        }
    }
    let count = seeds.len();
    seeds.push(NodeId(header.root as u32))?;
    seeds.finish()?;
    let distance = if count == 0 { 0 } else { SYSTEM_DISTANCE };
    Ok(vec![DistanceSeed { distance: 1, count }, DistanceSeed { distance, count: 1 }])
}

/// The integer that JavaScript's `parseInt` finds at the start of a text.
fn leading_integer(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii_start();
    let (sign, text) = match text.first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let value =
        digits.clone().fold(0i64, |value, digit| value.saturating_mul(10).saturating_add((digit - b'0').into()));
    (digits.count() > 0).then_some(sign * value)
}

/// Names of weak-map edges: table and number of the pair, by string.
struct Ephemerons {
    by_name: FxHashMap<u32, (u64, u32)>,
    _reservation: heaplake_kit::Reservation,
}

impl Ephemerons {
    fn load(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let mut names = ColumnReader::open(scratch, EPHEMERON_STRING)?;
        let mut tables = ColumnReader::open(scratch, EPHEMERON_TABLE)?;
        let mut shared = ColumnReader::open(scratch, EPHEMERON_SHARED)?;
        let count = names.remaining();
        let reservation = context.budget.reserve("weak-map entries", count * 64)?;
        let mut pairs: FxHashMap<u64, u32> = FxHashMap::default();
        let mut by_name = FxHashMap::default();
        by_name.reserve(count as usize);
        for _ in 0..count {
            let next = pairs.len() as u32;
            let pair = *pairs.entry(shared.next()?).or_insert(next);
            by_name.insert(names.next()?.0, (tables.next()?, pair));
        }
        Ok(Self { by_name, _reservation: reservation })
    }

    #[inline]
    fn get(&self, name: u32) -> Option<(u64, u32)> {
        if self.by_name.is_empty() { None } else { self.by_name.get(&name).copied() }
    }
}

#[cfg(test)]
mod tests {
    use super::leading_integer;

    #[test]
    fn parses_integers_as_javascript_does() {
        for (text, value) in [("7 / x", Some(7)), (" -3", Some(-3)), ("12abc", Some(12)), ("x1", None), ("", None)] {
            assert_eq!(leading_integer(text.as_bytes()), value, "{text:?}");
        }
    }
}
