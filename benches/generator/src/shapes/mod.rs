//! Heaps of extreme shapes, by name, as a program can make on purpose or by mistake.
//!
//! Each takes the number of its nodes, or the size of its widest part in a heap of that many nodes, to measure growth
//! of time and memory. The shape and that number determine the heap.
//!
//! ```
//! use heaplake_generator::shapes::{SHAPES, find};
//!
//! let shape = find(SHAPES, "star").unwrap();
//! let mut bytes = Vec::new();
//! shape.write(1000, &mut bytes).unwrap();
//! assert!(bytes.starts_with(b"{\"snapshot\":"));
//! ```

mod graphs;
mod java;
mod names;
mod v8;

use crate::hprof::Dump;
use std::io::{self, Write};

#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub name: &'static str,
    pub says: &'static str,
    pub ending: &'static str,
    /// Subcommand that reads its files.
    pub command: &'static str,
    write: Writer,
}

#[derive(Clone, Copy, Debug)]
enum Writer {
    V8(fn(u64) -> v8::Heap),
    Java(fn(u64, &mut Dump<'_>) -> io::Result<()>),
    Other(fn(u64, &mut dyn Write) -> io::Result<()>),
}

const fn v8(name: &'static str, says: &'static str, heap: fn(u64) -> v8::Heap) -> Shape {
    Shape { name, says, ending: "heapsnapshot", command: "analyze", write: Writer::V8(heap) }
}

/// A shape of traces or dumps; `reads` has the ending of its files and the subcommand.
pub(crate) const fn other(
    name: &'static str,
    says: &'static str,
    reads: [&'static str; 2],
    write: fn(u64, &mut dyn Write) -> io::Result<()>,
) -> Shape {
    Shape { name, says, ending: reads[0], command: reads[1], write: Writer::Other(write) }
}

const fn java(name: &'static str, says: &'static str, write: fn(u64, &mut Dump<'_>) -> io::Result<()>) -> Shape {
    Shape { name, says, ending: "hprof", command: "analyze", write: Writer::Java(write) }
}

pub const SHAPES: &[Shape] = &[
    v8("star", "one node refers to all others", graphs::star),
    v8("star-multi", "one node refers to each of its targets ten times", graphs::star_multi),
    v8("in-star", "all nodes refer to one", graphs::in_star),
    v8("bipartite", "a thousand hubs refer to all others at random", graphs::bipartite),
    v8("equal-hubs", "hubs that are duplicates share all their targets", graphs::equal_hubs),
    v8("random", "each node refers to four at random", graphs::random),
    v8("chain", "one list", graphs::chain),
    v8("chain-back", "one list, against the order of the file", graphs::chain_back),
    v8("ring", "one cycle with chords", graphs::ring),
    v8("rings", "small cycles that differ in one label", graphs::rings),
    v8("ladder", "dominators far above what refers to a node", graphs::ladder),
    v8("weak-map", "the entries of one weak map", graphs::weak_map),
    v8("weak-chain", "each value of a weak map is the key of the next entry", graphs::weak_chain),
    v8("property-sets", "plain objects with random properties", names::property_sets),
    v8("property-supersets", "a thousand interfaces, and objects that have several of them", names::supersets),
    v8("edge-names", "each edge has a name of its own", names::edge_names),
    v8("classes", "each object has a class of its own", names::classes),
    v8("scripts", "each function has a script of its own", names::scripts),
    v8("pairs", "sets of two duplicates, each with a text of its own", names::pairs),
    v8("wide-text", "strings that share one long text", names::wide_text),
    java("java-far", "a list of objects at random addresses", java::far),
    java("java-random", "objects that refer to others at random", java::random),
    java("java-array", "one wide array", java::array),
    java("java-classes", "each object has a class of its own", java::classes),
];

pub fn find(shapes: &'static [Shape], name: &str) -> Option<&'static Shape> {
    shapes.iter().find(|shape| shape.name == name)
}

impl Shape {
    /// Writes a heap or trace of this shape and about this size.
    pub fn write(&self, size: u64, mut out: &mut dyn Write) -> io::Result<()> {
        match self.write {
            Writer::V8(heap) => v8::write(&heap(size.max(LEAST)), &mut out),
            Writer::Java(write) => java::write(size.max(LEAST), write, &mut out),
            Writer::Other(write) => write(size, out),
        }
    }
}

/// Smaller heaps have no shape.
const LEAST: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_names_of_their_own_and_always_the_same_bytes() {
        for (at, shape) in SHAPES.iter().enumerate() {
            assert!(SHAPES[..at].iter().all(|other| other.name != shape.name), "{}", shape.name);
            let write = |size| {
                let mut bytes = Vec::new();
                shape.write(size, &mut bytes).unwrap();
                bytes
            };
            let (small, large) = (write(2000), write(4000));
            assert_eq!(small, write(2000), "{}", shape.name);
            assert!(large.len() > small.len() * 5 / 4, "{} grows", shape.name);
        }
    }
}
