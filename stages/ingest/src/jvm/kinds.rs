//! Kinds of nodes and edges, as the tables call them.

/// Kinds of nodes, as in the table of nodes.
pub const NODE_KINDS: [&str; 5] = ["root", "instance", "object array", "primitive array", "class"];

/// Positions in [`NODE_KINDS`].
pub mod node_kind {
    /// The synthetic root.
    pub const ROOT: u8 = 0;
    /// An instance of a class.
    pub const INSTANCE: u8 = 1;
    /// An array of references.
    pub const OBJECT_ARRAY: u8 = 2;
    /// An array of primitive values.
    pub const PRIMITIVE_ARRAY: u8 = 3;
    /// A class.
    pub const CLASS: u8 = 4;
}

/// Kinds of edges, as in the table of edges, and whether their names are numbers.
pub const EDGE_KINDS: [(&str, bool); 8] = [
    ("root", false),
    ("class", false),
    ("field", false),
    ("element", true),
    ("static", false),
    ("superclass", false),
    ("loader", false),
    ("local", false),
];

/// Positions in [`EDGE_KINDS`].
pub mod edge_kind {
    /// From the root; the name is the kind of root.
    pub const ROOT: u8 = 0;
    /// To the class of an object.
    pub const CLASS: u8 = 1;
    /// A field of an instance.
    pub const FIELD: u8 = 2;
    /// An element of an array.
    pub const ELEMENT: u8 = 3;
    /// A static field of a class.
    pub const STATIC: u8 = 4;
    /// To the superclass of a class.
    pub const SUPERCLASS: u8 = 5;
    /// To the loader of a class.
    pub const LOADER: u8 = 6;
    /// From a thread to what its stack refers to; the name is the frame.
    pub const LOCAL: u8 = 7;
}

/// Names of edges that have none in the dump, by their kinds.
pub const NAMES: [(u8, &[u8]); 3] =
    [(edge_kind::CLASS, b"<class>"), (edge_kind::SUPERCLASS, b"<super>"), (edge_kind::LOADER, b"<classloader>")];
