//! A V8 heap snapshot in memory.

use crate::text::OracleString;
use std::collections::HashMap;

/// The names of node types that V8 writes, in its order.
pub const NODE_TYPES: [&str; 16] = [
    "hidden",
    "array",
    "string",
    "object",
    "code",
    "closure",
    "regexp",
    "number",
    "native",
    "synthetic",
    "concatenated string",
    "sliced string",
    "symbol",
    "bigint",
    "object shape",
    "wasm object",
];

/// The names of edge types that V8 writes, in its order.
pub const EDGE_TYPES: [&str; 7] = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"];

/// Content of a `.heapsnapshot` file, nothing derived.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Names of the node types; [`Node::kind`] points in here.
    pub node_types: Vec<String>,
    /// Names of the edge types; [`Edge::kind`] points in here.
    pub edge_types: Vec<String>,
    /// The file's optional node fields.
    pub fields: Fields,
    /// The nodes, each with the edges that leave it.
    pub nodes: Vec<Node>,
    /// The string table, possibly with repetitions.
    pub strings: Vec<OracleString>,
    /// Source locations of objects' constructors; the last one of a node counts.
    pub locations: Vec<Location>,
    /// The ordinal of the root, if the header names one: the file then has it multiplied by the number of node fields.
    /// DevTools only knows roots that are the first or the last node.
    pub root_index: Option<usize>,
    /// Not part of the content.
    interned: Interned,
}

/// Index of the string table.
#[derive(Clone, Debug, Default)]
struct Interned {
    first: HashMap<OracleString, usize>,
    /// Strings of the table in `first`.
    seen: usize,
}

impl PartialEq for Interned {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Optional node fields. An absent field reads as zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// `trace_node_id`: the allocation stack.
    pub trace_node_id: bool,
    /// `detachedness`: whether a DOM node is attached to a page.
    pub detachedness: bool,
    /// `native_size`: bytes outside the managed heap (ArkTS only).
    pub native_size: bool,
}

/// One node of the heap graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Index of the type's name in [`Snapshot::node_types`].
    pub kind: usize,
    /// Index of the name in [`Snapshot::strings`].
    pub name: usize,
    /// V8's identifier; unique, unordered.
    pub id: u64,
    /// Shallow size in the file.
    pub self_size: u64,
    /// Outgoing edges in file order.
    pub edges: Vec<Edge>,
    /// Node of the allocation trace tree, 0 if unknown.
    pub trace_node_id: u64,
    /// 0 unknown, 1 attached, 2 detached.
    pub detachedness: u8,
    /// Bytes outside the managed heap.
    pub native_size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Index of the type's name in [`Snapshot::edge_types`].
    pub kind: usize,
    /// A number for `element` and `hidden` edges, else an index into [`Snapshot::strings`].
    pub name_or_index: u64,
    /// Ordinal of the target (the file has it multiplied by the number of node fields).
    pub to: usize,
}

/// Source location of an object's constructor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    pub node: usize,
    pub script_id: u64,
    /// Line, from zero.
    pub line: u64,
    /// Column, from zero.
    pub column: u64,
}

/// The label of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label<'a> {
    Name(&'a OracleString),
    /// A number, of an `element` or `hidden` edge.
    Index(u64),
}

impl Snapshot {
    /// An empty snapshot with V8's types and no optional fields but detachedness.
    pub fn new() -> Self {
        Self {
            node_types: NODE_TYPES.map(String::from).to_vec(),
            edge_types: EDGE_TYPES.map(String::from).to_vec(),
            fields: Fields { detachedness: true, ..Fields::default() },
            nodes: Vec::new(),
            strings: Vec::new(),
            locations: Vec::new(),
            root_index: None,
            interned: Interned::default(),
        }
    }

    /// Adds a node and returns its ordinal. Its id is `2 * ordinal + 1`, odd as in V8.
    pub fn add_node(&mut self, kind: &str, name: impl Into<OracleString>, self_size: u64) -> usize {
        let ordinal = self.nodes.len();
        let node = Node {
            kind: position(&self.node_types, kind),
            name: self.intern(name),
            id: 2 * ordinal as u64 + 1,
            self_size,
            ..Node::default()
        };
        self.nodes.push(node);
        ordinal
    }

    pub fn add_edge(&mut self, from: usize, kind: &str, name: impl Into<OracleString>, to: usize) {
        assert!(!is_numbered(kind), "{kind} edges have numbers");
        let name = self.intern(name) as u64;
        self.push_edge(from, kind, name, to);
    }

    /// Adds an `element` or `hidden` edge.
    pub fn add_numbered_edge(&mut self, from: usize, kind: &str, index: u64, to: usize) {
        assert!(is_numbered(kind), "{kind} edges have names");
        self.push_edge(from, kind, index, to);
    }

    fn push_edge(&mut self, from: usize, kind: &str, name_or_index: u64, to: usize) {
        let kind = position(&self.edge_types, kind);
        self.nodes[from].edges.push(Edge { kind, name_or_index, to });
    }

    /// The index of a string in the table, added if it is new.
    pub fn intern(&mut self, text: impl Into<OracleString>) -> usize {
        let (text, Interned { first, seen }) = (text.into(), &mut self.interned);
        for (index, string) in self.strings.iter().enumerate().skip(*seen) {
            first.entry(string.clone()).or_insert(index);
        }
        let index = *first.entry(text).or_insert_with_key(|text| {
            self.strings.push(text.clone());
            self.strings.len() - 1
        });
        *seen = self.strings.len();
        index
    }

    /// The ordinal of the root.
    pub fn root(&self) -> usize {
        self.root_index.unwrap_or(0)
    }

    /// The name of a node's type.
    pub fn node_type(&self, node: usize) -> &str {
        // DevTools reads "undefined" beyond the end of the list.
        self.node_types.get(self.nodes[node].kind).map_or("undefined", String::as_str)
    }

    /// A node's name in the file.
    pub fn node_name(&self, node: usize) -> &OracleString {
        &self.strings[self.nodes[node].name]
    }

    /// The name of an edge's type.
    pub fn edge_type(&self, edge: &Edge) -> &str {
        self.edge_types.get(edge.kind).map_or("undefined", String::as_str)
    }

    pub fn label(&self, edge: &Edge) -> Label<'_> {
        if is_numbered(self.edge_type(edge)) {
            Label::Index(edge.name_or_index)
        } else {
            Label::Name(&self.strings[edge.name_or_index as usize])
        }
    }

    /// An edge's name, if it has one.
    pub fn edge_name(&self, edge: &Edge) -> Option<&OracleString> {
        match self.label(edge) {
            Label::Name(name) => Some(name),
            Label::Index(_) => None,
        }
    }

    /// All edges with their sources, in file order.
    pub fn edges(&self) -> impl Iterator<Item = (usize, &Edge)> {
        let with_source = |(from, node)| edges_of(node).map(move |edge| (from, edge));
        self.nodes.iter().enumerate().flat_map(with_source)
    }
}

impl Default for Snapshot {
    fn default() -> Self {
        Self::new()
    }
}

fn edges_of(node: &Node) -> std::slice::Iter<'_, Edge> {
    node.edges.iter()
}

/// Whether edges of this type have a number instead of a name.
fn is_numbered(edge_type: &str) -> bool {
    edge_type == "element" || edge_type == "hidden"
}

fn position(types: &[String], name: &str) -> usize {
    types.iter().position(|t| t == name).unwrap_or_else(|| panic!("no type is called {name}"))
}
