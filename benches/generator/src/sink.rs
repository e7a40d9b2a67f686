//! The one description of the graph, and its consumers.
//!
//! A block *walks*: it emits each of its nodes in file order and, after each node, that node's edges. The passes over
//! the file are sinks that keep their section's data and ignore the rest, so nodes, edges and locations cannot
//! disagree: the same lines of code emit them.

/// Node types in the order of the file's own table (see [`NODE_TYPES`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum NodeType {
    /// V8's own parts of objects.
    Hidden,
    /// Elements of arrays and of tables.
    Array,
    /// A string with its own characters.
    String,
    Object,
    /// Compiled code and its metadata.
    Code,
    Closure,
    RegExp,
    Number,
    /// An object outside V8's heap.
    Native,
    /// A node that groups others.
    Synthetic,
    /// A concatenation of two strings.
    ConsString,
    /// A part of another string.
    SlicedString,
    Symbol,
    BigInt,
    /// A map (hidden class) or its descriptors.
    ObjectShape,
}

/// The node type names, as the header lists them.
pub(crate) const NODE_TYPES: [&str; 16] = [
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

/// Edge types in the order of the file's own table (see [`EDGE_TYPES`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum EdgeType {
    /// From a context to the value of a variable.
    Context,
    /// From an array to an element.
    Element,
    /// From an object to the value of a property.
    Property,
    /// A named reference invisible to scripts.
    Internal,
    /// A numbered reference invisible to scripts.
    Hidden,
    /// From the root to a global object.
    Shortcut,
    /// A reference that retains nothing.
    Weak,
}

/// The edge type names, as the header lists them.
pub(crate) const EDGE_TYPES: [&str; 7] = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"];

/// Consumer of a walk.
pub trait Sink {
    /// The next node. Its ordinal is one more than the last one's.
    fn node(&mut self, kind: NodeType, name: u64, self_size: u64);

    /// An edge of the last node; `name` is a string index, or a number for element and hidden edges.
    fn edge(&mut self, kind: EdgeType, name: u64, to: u64);

    /// Sets the last node's state: attached (1) or detached (2); never called for most nodes.
    fn detachedness(&mut self, _state: u64) {}

    /// Source location of the last node's constructor or function.
    fn location(&mut self, _script: u64, _line: u64, _column: u64) {}
}
