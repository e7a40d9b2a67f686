//! Which blocks the file has, and where.
//!
//! The file is a sequence of *shards*, each an array of some twenty blocks. A shard's content follows from the seed and
//! its number, so any pass can repeat the plan; its only state is the current position.

use crate::answers::{Answers, Fact};
use crate::blocks::{
    Attached, Block, Cache, Deque, Detached, Grid, List, LogBuffer, Module, Observers, OrderLines, Place, Records,
    Ring, SHAPE_COUNT, Size, Structure, Texts, Tree, Twins, ViewRegistry, Widgets, js_array, js_array_edges,
    js_array_elements, js_array_size,
};
use crate::names as n;
use crate::rng::{Rng, mix};
use crate::shared::{self, class, common, instance_of};
use crate::sink::EdgeType::Property;
use crate::sink::{NodeType, Sink};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A mixture like that of a real application.
    Realistic,
    List {
        nodes: u64,
    },
    /// A small heap with a deeply nested allocation trace tree.
    DeepTrace {
        depth: u64,
    },
}

const SESSION: u64 = 48;
/// Nodes of a shard before its blocks: array, hidden array, session.
const OVERHEAD: u64 = 3;

/// Some twenty blocks and the array that holds them.
#[derive(Debug)]
pub struct Shard {
    /// Ordinal of the shard's array, which is its first node.
    pub start: u64,
    key: u64,
    blocks: Vec<(Block, Place)>,
    size: Size,
}

impl Shard {
    fn new(plan: &Plan, number: u64, start: u64, first_string: u64) -> Self {
        let key = mix(plan.seed, number);
        let mut size = Size { nodes: OVERHEAD, ..Size::default() };
        let mut held = 1;
        let mut blocks = Vec::new();
        for (i, block) in plan.recipe(number, key).into_iter().enumerate() {
            let place = Place {
                head: start + size.nodes,
                string: first_string + size.strings,
                shard: start,
                session: start + 2,
                key: mix(key, i as u64),
            };
            size.add(block.size());
            held += u64::from(block.in_shard());
            blocks.push((block, place));
        }
        size.edges += js_array_edges(held) + 3;
        Self { start, key, blocks, size }
    }

    /// Entries that the shard takes in each section.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The blocks and their locations.
    pub fn blocks(&self) -> &[(Block, Place)] {
        &self.blocks
    }

    /// The heads of the documents, which hang from the document trees and not from the shard.
    pub fn documents(self) -> impl Iterator<Item = u64> {
        self.blocks.into_iter().filter(|(block, _)| !block.in_shard()).map(|(_, at)| at.head)
    }

    fn items(&self) -> impl Iterator<Item = u64> + Clone {
        let heads = self.blocks.iter().filter(|(block, _)| block.in_shard()).map(|(_, at)| at.head);
        std::iter::once(self.start + 2).chain(heads)
    }

    /// Emits the shard's nodes and edges.
    pub fn walk<S: Sink>(&self, out: &mut S) {
        js_array(self.items(), self.start + 1, out);
        js_array_elements(self.items().count() as u64, self.items(), out);
        out.node(NodeType::Object, n::C_SESSION, SESSION);
        out.edge(Property, n::USER, common(self.key));
        instance_of(class::C_SESSION, out);
        for (block, at) in &self.blocks {
            block.walk(at, out);
        }
    }

    /// Adds the answers of the shard and its blocks.
    pub fn metadata(&self, out: &mut Answers) {
        let before = out.in_registry();
        for (block, at) in &self.blocks {
            block.metadata(at, out);
        }
        let shallow = js_array_size(self.items().count() as u64);
        out.held(shallow + SESSION);
        out.begin("shard", OVERHEAD, js_array_edges(self.items().count() as u64) + 3);
        let fact = |ordinal, shallow, retained, distance, dominator| Fact {
            ordinal,
            shallow,
            retained,
            distance: Some(distance),
            dominator,
        };
        out.checkpoint(fact(self.start, shallow, out.in_registry() - before, 3, shared::REGISTRY));
        out.checkpoint(fact(self.start + 2, SESSION, SESSION, 4, self.start));
        out.class(",Array", 1, shallow, 0, 3);
        out.class(",Session", 1, SESSION, SESSION, 4);
    }

    /// Bytes of single huge strings.
    pub fn giant_bytes(&self) -> u64 {
        self.blocks.iter().map(|(block, _)| block.giant_bytes()).sum()
    }
}

/// The plan of a file: everything else follows from it.
#[derive(Debug, Clone)]
pub struct Plan {
    seed: u64,
    shape: Shape,
    shards: u64,
    documents: u64,
    growth: u64,
    total: Size,
}

/// Arrays of plain objects per shard.
const RECORDS: u64 = 7;

/// When to stop adding shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// About this many nodes.
    Nodes(u64),
    /// About this many bytes of file.
    Bytes(u64),
}

/// Approximate file bytes per node, with everything that belongs to it.
const NODE_BYTES: u64 = 90;
/// The size of one shard in this many, and of the first ones, is measured; the others are estimated.
const MEASURE_EVERY: u64 = 8;
/// In big files one structure in this many is much longer than the others.
const LONG_EVERY: u64 = 64;
/// Giant strings are in the last of this many shards, never in a measured one.
const GIANT_EVERY: u64 = 64;

impl Plan {
    /// Determines the number of shards. `measure` returns a shard's bytes in the file.
    pub fn new(seed: u64, shape: Shape, target: Target, measure: impl Fn(&Plan, &Shard) -> u64) -> Self {
        let nodes = match target {
            Target::Nodes(nodes) => nodes,
            Target::Bytes(bytes) => bytes / NODE_BYTES,
        };
        let growth = (nodes / 1_000_000).clamp(1, 32);
        let total = Size { nodes: shared::FIRST_BLOCK_NODE, strings: n::FIRST_FREE, ..Size::default() };
        let mut plan = Self { seed: mix(seed, 0), shape, shards: 0, documents: 0, growth, total };
        plan.total.locations = shared::CLASSES.len() as u64;
        let mut bytes = 0;
        let mut bytes_per_node = NODE_BYTES as f64;
        loop {
            let shard = Shard::new(&plan, plan.shards, plan.total.nodes, plan.total.strings);
            let size = shard.size();
            let measured = plan.shards < MEASURE_EVERY || plan.shards.is_multiple_of(MEASURE_EVERY);
            if measured && matches!(target, Target::Bytes(_)) {
                bytes_per_node = measure(&plan, &shard) as f64 / size.nodes as f64;
            }
            let taken = shard.giant_bytes() + (size.nodes as f64 * bytes_per_node) as u64;
            // The shard that crosses the limit is kept if most of it lies below.
            let (so_far, more, end) = match target {
                Target::Nodes(end) => (plan.total.nodes, size.nodes, end),
                Target::Bytes(end) => (bytes, taken, end),
            };
            if plan.shards > 0 && (so_far + more / 2 > end || shape != Shape::Realistic) {
                break;
            }
            bytes += taken;
            plan.total.add(size);
            plan.shards += 1;
            plan.documents += shard.documents().count() as u64;
        }
        plan.total.edges += shared::edge_count(plan.shards, plan.documents);
        plan
    }

    /// Key of the file's random choices.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    pub fn total(&self) -> Size {
        self.total
    }

    pub fn shard_count(&self) -> u64 {
        self.shards
    }

    /// Every shard with its location, in order.
    pub fn shards(&self) -> impl Iterator<Item = Shard> + Clone {
        let mut at = (shared::FIRST_BLOCK_NODE, n::FIRST_FREE);
        (0..self.shards).map(move |number| {
            let shard = Shard::new(self, number, at.0, at.1);
            at = (at.0 + shard.size().nodes, at.1 + shard.size().strings);
            shard
        })
    }

    /// Emits all nodes and edges of the file in order.
    pub fn walk<S: Sink>(&self, out: &mut S) {
        self.walk_shared(out);
        for shard in self.shards() {
            shard.walk(out);
        }
    }

    /// Emits the shared nodes and their edges.
    pub fn walk_shared<S: Sink>(&self, out: &mut S) {
        let starts = self.shards().map(|shard| shard.start);
        shared::walk(self.shards, starts, self.shards().flat_map(Shard::documents), out);
    }

    pub fn answers(&self) -> Answers {
        let mut out = Answers::default();
        for shard in self.shards() {
            shard.metadata(&mut out);
        }
        out.begin("shared nodes", shared::FIRST_BLOCK_NODE, shared::edge_count(self.shards, self.documents));
        shared::metadata(self.shards, &mut out);
        let total = self.total;
        out.set_counts(total.nodes, total.edges, total.strings, total.locations);
        out
    }

    /// The blocks of one shard.
    fn recipe(&self, number: u64, key: u64) -> Vec<Block> {
        match self.shape {
            Shape::Realistic => self.mixture(number, key),
            Shape::List { nodes } => vec![Block::List(List { length: nodes, boxed: false })],
            Shape::DeepTrace { depth } => vec![Block::List(List { length: depth.clamp(1, 1000), boxed: false })],
        }
    }

    /// Like the heap of an application: mostly plain objects, strings and arrays, mixed with everything else.
    fn mixture(&self, number: u64, key: u64) -> Vec<Block> {
        let rng = &mut Rng::new(key);
        let mut blocks = vec![
            Block::List(List { length: self.tail(rng, 500, 1500), boxed: true }),
            Block::Deque(Deque { length: self.tail(rng, 200, 700) }),
            Block::Tree(Tree {
                levels: rng.between(7, 9) as u32 + self.growth.ilog2() * u32::from(rng.one_in(LONG_EVERY)),
            }),
            Block::Ring(Ring { length: self.tail(rng, 50, 400), both_ways: false }),
            Block::Ring(Ring { length: self.tail(rng, 50, 400), both_ways: true }),
            Block::Detached(Detached { grid: grid(rng) }),
            Block::LogBuffer(LogBuffer { length: rng.between(40, 160) }),
            Block::ViewRegistry(ViewRegistry { entries: rng.between(20, 80) }),
            Block::Observers(Observers { pairs: rng.between(10, 30) }),
            Block::Twins(Twins { list: rng.between(4, 12), ring: rng.between(3, 9) }),
        ];
        for _ in 0..2 {
            blocks.push(Block::Cache(Cache { entries: self.tail(rng, 50, 250) }));
            blocks.push(Block::Texts(texts(rng)));
            blocks.push(Block::Widgets(Widgets { pairs: rng.between(12, 36) }));
        }
        for _ in 0..4 {
            blocks.push(Block::Module(Module { scopes: rng.between(4, 16), functions: rng.between(3, 9) }));
            blocks.push(Block::OrderLines(OrderLines { length: self.tail(rng, 100, 300) }));
        }
        for i in 0..RECORDS {
            let shape = (RECORDS * number + i) % SHAPE_COUNT;
            blocks.push(Block::Records(Records { length: rng.between(220, 520), shape }));
        }
        if self.growth > 1 && number % GIANT_EVERY == GIANT_EVERY - 1 {
            let giant = Some(rng.between(1 << 20, 3 << 20));
            blocks.push(Block::Texts(Texts { giant, ..texts(rng) }));
        }
        for i in (1..blocks.len()).rev() {
            blocks.swap(i, rng.between(0, i as u64) as usize);
        }
        blocks.insert(0, Block::Attached(Attached { grid: grid(rng) }));
        blocks
    }

    /// A length between `low` and `high`; in big files a few are much longer.
    fn tail(&self, rng: &mut Rng, low: u64, high: u64) -> u64 {
        let length = rng.between(low, high);
        if rng.one_in(LONG_EVERY) { length * self.growth } else { length }
    }
}

fn grid(rng: &mut Rng) -> Grid {
    Grid { rows: rng.between(5, 20), cells: rng.between(3, 15) }
}

fn texts(rng: &mut Rng) -> Texts {
    Texts { own: rng.between(100, 350), shared: rng.between(20, 80), giant: None }
}
