//! The one description of the graph, and who listens to it.
//!
//! A block *walks*: it names each of its nodes in file order and, after each node, that node's edges. The passes over
//! the file are listeners that keep what their section needs and ignore the rest, so nodes, edges and locations cannot
//! disagree: they come from the same lines of code.

/// Node types in the order of the file's own table (see [`NODE_TYPES`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum NodeType {
    /// V8's own parts of objects.
    Hidden,
    /// Elements of arrays and of tables.
    Array,
    /// A string whose characters are its own.
    String,
    /// A JavaScript object.
    Object,
    /// Compiled code and what belongs to it.
    Code,
    /// A function.
    Closure,
    /// A regular expression.
    RegExp,
    /// A number in a heap object of its own.
    Number,
    /// An object outside the heap of V8.
    Native,
    /// A node that groups others and is no object.
    Synthetic,
    /// Two strings, one after the other.
    ConsString,
    /// A part of another string.
    SlicedString,
    /// A symbol.
    Symbol,
    /// A big integer.
    BigInt,
    /// A map (hidden class) or its descriptors.
    ObjectShape,
}

/// The node type names, as the header lists them.
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
    /// A named reference that scripts do not see.
    Internal,
    /// A numbered reference that scripts do not see.
    Hidden,
    /// From the root to a global object.
    Shortcut,
    /// A reference that retains nothing.
    Weak,
}

/// The edge type names, as the header lists them.
pub const EDGE_TYPES: [&str; 7] = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"];

/// Listens to a walk.
pub trait Sink {
    /// The next node. Its ordinal is one more than the last one's.
    fn node(&mut self, kind: NodeType, name: u64, self_size: u64);

    /// An edge of the last node; `name` is a string index, but a number for element and hidden edges.
    fn edge(&mut self, kind: EdgeType, name: u64, to: u64);

    /// Whether the last node is attached (1) or detached (2); most nodes do not know and say nothing.
    fn detachedness(&mut self, _state: u64) {}

    /// Where the last node's constructor or function was declared.
    fn location(&mut self, _script: u64, _line: u64, _column: u64) {}
}
