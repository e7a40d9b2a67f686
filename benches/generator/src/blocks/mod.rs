//! The structures that a file is made of, one file per family.
//!
//! A block is a handful of parameters. Its nodes are numbered from its head on, its strings from its first string on, so
//! all of its nodes, edges, strings and right answers are formulas of the parameters and of where it was put.

mod array;
mod cons;
mod deque;
mod document;
mod duplicates;
mod hash_map;
mod list;
mod module;
mod records;
mod ring;
mod text;
mod tree;
mod weak_map;
mod weak_refs;
mod widgets;

use std::io::Write;

pub use array::OrderLines;
pub use cons::LogBuffer;
pub use deque::Deque;
pub use document::{Attached, Detached, Grid};
pub use duplicates::Twins;
pub use hash_map::Cache;
pub use list::List;
pub use module::Module;
pub use records::{Records, SHAPE_COUNT};
pub use ring::Ring;
pub use text::Texts;
pub use tree::Tree;
pub use weak_map::ViewRegistry;
pub use weak_refs::Observers;
pub use widgets::Widgets;

use crate::answers::{Answers, Fact};
use crate::names as n;
use crate::shared::{self, array_size, class, instance_of, map, slot};
use crate::sink::EdgeType::{Element, Internal};
use crate::sink::{NodeType, Sink};
use crate::strings::Strings;

/// Distance of every head that hangs from a shard: global object, registry, shard, head.
pub const HEAD_DISTANCE: u64 = 4;

/// Self size of a string of that many one-byte characters.
pub const fn string_size(length: u64) -> u64 {
    16 + length.div_ceil(8) * 8
}

/// Where a block was put, and what surrounds it.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Ordinal of the block's first node.
    pub head: u64,
    /// Index of the block's first string.
    pub string: u64,
    /// The shard's array, which holds the head.
    pub shard: u64,
    /// An object that all blocks of the shard share.
    pub session: u64,
    /// Key of all of the block's random choices.
    pub key: u64,
}

impl Place {
    /// The facts of a head that hangs from the shard.
    fn head_fact(&self, shallow: u64, retained: u64) -> Fact {
        Fact { ordinal: self.head, shallow, retained, distance: Some(HEAD_DISTANCE), dominator: self.shard }
    }
}

/// How much of each section something takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// Nodes.
    pub nodes: u64,
    /// Edges.
    pub edges: u64,
    /// Strings.
    pub strings: u64,
    /// Locations.
    pub locations: u64,
}

impl Size {
    /// Adds another size.
    pub fn add(&mut self, other: Size) {
        self.nodes += other.nodes;
        self.edges += other.edges;
        self.strings += other.strings;
        self.locations += other.locations;
    }
}

/// What every kind of block can do.
pub trait Structure {
    /// The kind's name in the answers.
    fn kind(&self) -> &'static str;
    /// The size, by formula.
    fn size(&self) -> Size;
    /// Names the nodes and edges.
    fn walk<S: Sink>(&self, at: &Place, out: &mut S);
    /// Writes the strings, exactly [`Size::strings`] of them.
    fn strings<W: Write>(&self, _at: &Place, _out: &mut Strings<W>) {}
    /// Adds the right answers.
    fn facts(&self, at: &Place, out: &mut Answers);
    /// Whether the shard holds the head; a document hangs elsewhere.
    fn in_shard(&self) -> bool {
        true
    }
    /// Bytes of string content that are too unusual for an estimate of the file's size.
    fn giant_bytes(&self) -> u64 {
        0
    }
}

macro_rules! blocks {
    ($($name:ident,)*) => {
        /// Any block.
        #[derive(Debug, Clone)]
        #[expect(missing_docs, reason = "each is a block of that kind")]
        pub enum Block { $($name($name),)* }

        impl Structure for Block {
            fn kind(&self) -> &'static str {
                match self { $(Self::$name(block) => block.kind(),)* }
            }
            fn size(&self) -> Size {
                match self { $(Self::$name(block) => block.size(),)* }
            }
            fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
                match self { $(Self::$name(block) => block.walk(at, out),)* }
            }
            fn strings<W: Write>(&self, at: &Place, out: &mut Strings<W>) {
                match self { $(Self::$name(block) => block.strings(at, out),)* }
            }
            fn facts(&self, at: &Place, out: &mut Answers) {
                let size = self.size();
                out.begin(self.kind(), size.nodes, size.edges);
                match self { $(Self::$name(block) => block.facts(at, out),)* }
            }
            fn in_shard(&self) -> bool {
                match self { $(Self::$name(block) => block.in_shard(),)* }
            }
            fn giant_bytes(&self) -> u64 {
                match self { $(Self::$name(block) => block.giant_bytes(),)* }
            }
        }
    };
}

blocks! {
    Attached, Detached, List, Deque, Tree, Ring, Cache, Module, OrderLines, Records, Texts, LogBuffer, ViewRegistry,
    Observers, Widgets, Twins,
}

/// A string node.
#[inline]
fn string<S: Sink>(name: u64, self_size: u64, out: &mut S) {
    out.node(NodeType::String, name, self_size);
    out.edge(Internal, n::MAP, map::STRING);
}

/// A heap number with its value captured.
#[inline]
fn number<S: Sink>(draw: u64, out: &mut S) {
    out.node(NodeType::Number, n::HEAP_NUMBER, NUMBER_SIZE);
    out.edge(Internal, n::VALUE, shared::numeral(draw));
    out.edge(Internal, n::MAP, map::NUMBER);
}

/// Self size of a heap number.
pub const NUMBER_SIZE: u64 = 16;

/// A JavaScript array, `items` being its elements and `elements` the ordinal of its hidden array.
pub fn js_array<S: Sink>(items: impl Iterator<Item = u64>, elements: u64, out: &mut S) {
    out.node(NodeType::Object, n::C_ARRAY, ARRAY_OBJECT);
    for (i, to) in items.enumerate() {
        out.edge(Element, i as u64, to);
    }
    instance_of(class::C_ARRAY, out);
    out.edge(Internal, n::ELEMENTS, elements);
}

/// Self size of a JavaScript array object without its hidden array.
pub const ARRAY_OBJECT: u64 = 32;

/// The hidden array of a JavaScript array. It belongs to the array object alone, which therefore gets its bytes.
pub fn js_array_elements<S: Sink>(count: u64, items: impl Iterator<Item = u64>, out: &mut S) {
    out.node(NodeType::Array, n::OBJECT_ELEMENTS, array_size(count));
    for (i, to) in items.enumerate() {
        slot(i as u64, to, out);
    }
    out.edge(Internal, n::MAP, map::FIXED_ARRAY);
}

/// Own bytes of a JavaScript array after the adjustment.
pub const fn js_array_size(count: u64) -> u64 {
    ARRAY_OBJECT + array_size(count)
}

/// Edges of a JavaScript array and its hidden array together.
pub const fn js_array_edges(count: u64) -> u64 {
    2 * count + 4
}
