//! Writes a graph as V8's `.heapsnapshot`.

use crate::header::{NODE_FIELDS, header};
use std::io::{self, Write};

/// Kinds of nodes, as their positions in the header.
pub(super) mod kind {
    pub(crate) const ARRAY: u8 = 1;
    pub(crate) const STRING: u8 = 2;
    pub(crate) const OBJECT: u8 = 3;
    pub(crate) const CLOSURE: u8 = 5;
    pub(crate) const SYNTHETIC: u8 = 9;
}

/// Kinds of edges, as their positions in the header.
pub(super) mod edge {
    pub(crate) const ELEMENT: u8 = 1;
    pub(crate) const PROPERTY: u8 = 2;
    pub(crate) const INTERNAL: u8 = 3;
}

pub(super) struct Node {
    pub kind: u8,
    /// Position of its name among the strings.
    pub name: u64,
    pub bytes: u64,
}

/// Kind, name or position, and target.
pub(super) type Edge = (u8, u64, u64);

/// Adds the edges of a node.
pub(super) type Edges = dyn Fn(u64, &mut Vec<Edge>);

/// A heap as a formula. Node 0 is the root.
pub(super) struct Heap {
    pub nodes: u64,
    pub node: Box<dyn Fn(u64) -> Node>,
    pub edges: Box<Edges>,
    pub strings: u64,
    pub string: Box<dyn Fn(u64) -> String>,
    /// Script id of a node.
    pub script: Option<fn(u64) -> u64>,
}

/// Names of heaps that need no others: root, class and two labels.
pub(super) const NAMES: [&str; 4] = ["", "Part", "next", "other"];

/// Positions in [`NAMES`].
pub(super) const PART: u64 = 1;
pub(super) const NEXT: u64 = 2;
pub(super) const OTHER: u64 = 3;

/// Node 0 is the root, all others are objects of one class.
pub(super) fn part(node: u64) -> Node {
    if node == 0 {
        Node { kind: kind::SYNTHETIC, name: 0, bytes: 0 }
    } else {
        Node { kind: kind::OBJECT, name: PART, bytes: 24 + node % 5 * 8 }
    }
}

/// A heap of objects of one class with these edges.
pub(super) fn of_parts(nodes: u64, edges: impl Fn(u64, &mut Vec<Edge>) + 'static) -> Heap {
    Heap {
        nodes,
        node: Box::new(part),
        edges: Box::new(edges),
        strings: NAMES.len() as u64,
        string: Box::new(|at| NAMES[at as usize].to_owned()),
        script: None,
    }
}

pub(super) fn write(heap: &Heap, out: &mut impl Write) -> io::Result<()> {
    let mut edges = Vec::new();
    let mut count = 0;
    for node in 0..heap.nodes {
        edges.clear();
        (heap.edges)(node, &mut edges);
        count += edges.len() as u64;
    }
    write!(out, "{}\"nodes\":[", header(&NODE_FIELDS, [heap.nodes, count, 0]))?;
    for node in 0..heap.nodes {
        edges.clear();
        (heap.edges)(node, &mut edges);
        let Node { kind, name, bytes } = (heap.node)(node);
        let comma = if node > 0 { "," } else { "" };
        writeln!(out, "{comma}{kind},{name},{},{bytes},{},0,0", 2 * node + 1, edges.len())?;
    }
    out.write_all(b"],\"edges\":[")?;
    let mut comma = "";
    for node in 0..heap.nodes {
        edges.clear();
        (heap.edges)(node, &mut edges);
        for (kind, name, to) in &edges {
            writeln!(out, "{comma}{kind},{name},{}", 7 * to)?;
            comma = ",";
        }
    }
    out.write_all(b"],\"trace_function_infos\":[],\"trace_tree\":[],\"samples\":[],\"locations\":[")?;
    if let Some(script) = heap.script {
        let mut comma = "";
        for node in 1..heap.nodes {
            write!(out, "{comma}{},{},1,1", 7 * node, script(node))?;
            comma = ",";
        }
    }
    out.write_all(b"],\"strings\":[")?;
    for at in 0..heap.strings {
        let comma = if at > 0 { "," } else { "" };
        writeln!(out, "{comma}\"{}\"", (heap.string)(at))?;
    }
    out.write_all(b"]}")
}
