//! Kinds of nodes and edges in the tables.

use crate::names::Names;
use heaplake_kit::StageError;
use heaplake_schemas::ids::StringId;

/// Kinds of nodes in the table of nodes.
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

/// Kinds of edges in the table of edges, and whether their names are numbers.
pub const EDGE_KINDS: [(&str, bool); 9] = [
    ("root", false),
    ("class", false),
    ("field", false),
    ("element", true),
    ("static", false),
    ("superclass", false),
    ("loader", false),
    ("local", false),
    ("referent", false),
];

/// Positions in [`EDGE_KINDS`].
pub mod edge_kind {
    /// From the root; its name is the kind of root.
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
    /// From a thread to a local of its stack; its name is the frame.
    pub const LOCAL: u8 = 7;
    /// From a weak, soft, phantom or final reference to its referent. The last kind, so that paths avoid it.
    pub const REFERENT: u8 = 8;
}

/// Synthetic names of edges that have no name in the dump.
#[derive(Clone, Copy)]
pub struct EdgeNames {
    /// Edge to the class of an object.
    pub class: StringId,
    /// Edge to a superclass.
    pub superclass: StringId,
    /// Edge to a loader.
    pub loader: StringId,
}

impl EdgeNames {
    /// Interns the names.
    pub fn intern(names: &mut Names) -> Result<Self, StageError> {
        Ok(Self {
            class: names.intern(b"<class>")?,
            superclass: names.intern(b"<super>")?,
            loader: names.intern(b"<classloader>")?,
        })
    }

    /// Returns the names by edge kind; `None` for kinds with a name per edge.
    #[must_use]
    pub fn by_kind(self) -> Vec<Option<StringId>> {
        let mut names = vec![None; EDGE_KINDS.len()];
        for (kind, name) in
            [(edge_kind::CLASS, self.class), (edge_kind::SUPERCLASS, self.superclass), (edge_kind::LOADER, self.loader)]
        {
            names[usize::from(kind)] = Some(name);
        }
        names
    }
}
