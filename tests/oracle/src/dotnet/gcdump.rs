//! `.gcdump` files: a graph in memory, a writer, and the expected results.
//!
//! Implements the description of the format, without the tools that write such files.

use crate::graph::{Arc, distances, dominators_by_deletion, random_graph, retained};
use crate::rng::SplitMix64;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Names, sizes (-1 for none) and modules of types.
    pub types: Vec<(String, i32, Option<String>)>,
    pub nodes: Vec<Node>,
    pub root: u32,
    /// Time of capture, in .NET ticks.
    pub ticks: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    pub of_type: u32,
    pub size: i32,
    /// Its address; 0 for nodes that represent roots.
    pub address: u64,
    pub references: Vec<u32>,
    /// False for an undescribed node: no size, no references, and the first type.
    pub described: bool,
}

/// Expected results for a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTruth {
    pub class: String,
    /// `root` for nodes that represent roots, `object`, `array` or `string`.
    pub kind: String,
    pub shallow: u64,
    pub retained: u64,
    /// Number of its immediate dominator; the root's is the root.
    pub dominator: u32,
    /// Distance from the root.
    pub distance: Option<u32>,
    pub edges: Vec<u32>,
}

impl Graph {
    /// Expected results for every node.
    pub fn truth(&self) -> Vec<NodeTruth> {
        let n = self.nodes.len();
        let edges = |node: &Node| if node.described { node.references.clone() } else { Vec::new() };
        let mut arcs: Vec<Arc> = Vec::new();
        for (number, node) in (0..).zip(&self.nodes) {
            arcs.extend(edges(node).into_iter().map(|to| (number, to)));
        }
        let far = distances(n, &arcs, self.root);
        let held: Vec<bool> =
            (0..n as u32).map(|node| arcs.iter().any(|&(from, to)| to == node && from != to)).collect();
        arcs.extend((0..n as u32).filter(|&node| node != self.root && !held[node as usize]).map(|to| (self.root, to)));
        let size = |node: &Node| if node.described { node.size as u64 } else { 0 };
        let sizes: Vec<u64> = self.nodes.iter().map(size).collect();
        let (dominators, kept) = (dominators_by_deletion(n, &arcs, self.root), retained(n, &arcs, self.root, &sizes));
        let one = |number: usize| {
            let node = &self.nodes[number];
            let class = self.types[if node.described { node.of_type as usize } else { 0 }].0.clone();
            NodeTruth {
                kind: kind(&class).to_owned(),
                class,
                shallow: sizes[number],
                // Cycles without a reference from outside are alive, too: the root dominates each of their nodes.
                retained: match dominators[number] {
                    _ if number == self.root as usize => sizes.iter().sum(),
                    Some(_) => kept[number],
                    None => sizes[number],
                },
                dominator: dominators[number].unwrap_or(self.root),
                distance: far[number],
                edges: edges(node),
            }
        };
        (0..n).map(one).collect()
    }

    /// The bytes of a file; the seed decides the order of the node descriptions.
    pub fn to_gcdump(&self, seed: u64) -> Vec<u8> {
        let (labels, block) = self.descriptions(seed);
        let mut file = Vec::new();
        text(&mut file, Some("!FastSerialization.1"));
        begin(&mut file, "GCHeapDump", 10, 8);
        begin(&mut file, "Graphs.MemoryGraph", 1, 0);
        file.extend(self.nodes.iter().map(|node| i64::from(node.size)).sum::<i64>().to_le_bytes());
        file.extend([self.root, self.types.len() as u32].map(u32::to_le_bytes).concat());
        for (name, size, module) in &self.types {
            text(&mut file, Some(name));
            file.extend(size.to_le_bytes());
            text(&mut file, module.as_deref());
        }
        file.extend((labels.len() as u32).to_le_bytes());
        file.extend(labels.iter().flat_map(|label| label.to_le_bytes()));
        file.extend((block.len() as u32).to_le_bytes());
        file.extend(block);
        file.extend((labels.len() as u32).to_le_bytes());
        file.extend(self.nodes.iter().flat_map(|node| node.address.to_le_bytes()));
        self.end(&mut file);
        file
    }

    /// Offset of each node's description, and the descriptions.
    fn descriptions(&self, seed: u64) -> (Vec<u32>, Vec<u8>) {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        SplitMix64::new(seed).shuffle(&mut order);
        let mut block = Vec::new();
        // Description of all nodes that are referred to but never described.
        [0, 0].into_iter().for_each(|number| signed(&mut block, number));
        let mut labels = vec![0u32; self.nodes.len()];
        for number in order.into_iter().filter(|&number| self.nodes[number].described) {
            let node = &self.nodes[number];
            labels[number] = block.len() as u32;
            let (of_type, explicit) = (node.of_type as i32, self.types[node.of_type as usize].1 != node.size);
            signed(&mut block, of_type << 1 | i32::from(explicit));
            if explicit {
                signed(&mut block, node.size);
            }
            signed(&mut block, node.references.len() as i32);
            node.references.iter().for_each(|&to| signed(&mut block, to as i32 - number as i32));
        }
        (labels, block)
    }

    /// The data after the graph.
    fn end(&self, file: &mut Vec<u8>) {
        file.extend([8, 1, 6, 1]);
        file.extend([1f32, 1.0].map(f32::to_le_bytes).concat());
        file.extend([1, 1]);
        text(file, Some("a log of the collection"));
        file.extend(self.ticks.to_le_bytes());
        text(file, Some("machine"));
        text(file, None);
        file.extend([0; 4 + 8 + 8 + 4]);
        file.extend([6, 6, 0, 0, 0, 0]);
    }
}

fn kind(class: &str) -> &'static str {
    match class {
        "System.String" => "string",
        name if name.starts_with("[RCW") => "object",
        name if name.starts_with('[') => "root",
        name if name.starts_with("System.Byte[]") => "array",
        _ => "object",
    }
}

/// Names of types. The first belongs to undescribed nodes.
const NAMES: [&str; 9] = [
    "UNDEFINED",
    "[.NET Roots]",
    "[static vars]",
    "System.String",
    "System.Byte[] (Bytes > 1K)",
    "Order",
    "Order",
    "[RCW Thing]",
    "System.Collections.Generic.List<Größe[]>",
];

/// A random graph of at most `most` nodes.
pub fn graph(seed: u64, most: usize) -> Graph {
    let rng = &mut SplitMix64::new(seed);
    let modules = [None, Some("Core.dll"), Some("/app/App.dll")];
    let types = NAMES.iter().map(|name| {
        let size = if *name == "UNDEFINED" { 0 } else { [-1, 0, 24, 100_000][rng.below(4)] };
        ((*name).to_owned(), size, modules[rng.below(3)].map(str::to_owned))
    });
    let types: Vec<_> = types.collect();
    let (n, arcs) = random_graph(rng.next_u64(), most);
    let mut nodes: Vec<Node> = (0..n)
        .map(|number| {
            let of_type = 1 + rng.below(types.len() - 1) as u32;
            let size = match types[of_type as usize].1 {
                size if size >= 0 && rng.one_in(2) => size,
                _ => [0, 1, 63, 64, 8191, 8192, 1 << 20, i32::MAX][rng.below(8)],
            };
            let described = !rng.one_in(20);
            Node { of_type, size, address: number as u64 * 24, references: Vec::new(), described }
        })
        .collect();
    let mut number: Vec<u32> = (0..n as u32).collect();
    if rng.one_in(2) {
        rng.shuffle(&mut number);
    }
    for (from, to) in arcs {
        nodes[number[from as usize] as usize].references.push(number[to as usize]);
    }
    nodes[number[0] as usize].described = true;
    Graph { types, nodes, root: number[0], ticks: 638_000_000_000_000_000 }
}

/// A number of seven bits per byte, highest bits first, as short as its sign allows.
fn signed(out: &mut Vec<u8>, number: i32) {
    let bytes = (1..5).find(|bytes| matches!(i64::from(number) >> (7 * bytes - 1), -1 | 0)).unwrap_or(5);
    for byte in (0..bytes).rev() {
        let bits = (number >> (7 * byte)) as u8 & 0x7f;
        out.push(if byte > 0 { bits | 0x80 } else { bits });
    }
}

fn text(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        None => out.extend((-1i32).to_le_bytes()),
        Some(text) => {
            out.extend((text.len() as u32).to_le_bytes());
            out.extend(text.as_bytes());
        }
    }
}

fn begin(out: &mut Vec<u8>, name: &str, version: u32, least_reader: u32) {
    out.extend([4, 4, 1]);
    out.extend([version, least_reader].map(u32::to_le_bytes).concat());
    text(out, Some(name));
    out.push(6);
}
