//! Kinds of nodes and edges in the tables.

use crate::names::NameWriter;
use heaplake_kit::StageError;
use heaplake_schemas::ids::StringId;

/// Kinds of nodes in the table of nodes.
pub(crate) const NODE_KINDS: [&str; 5] = ["root", "instance", "object array", "primitive array", "class"];

/// Positions in [`NODE_KINDS`].
pub(crate) mod node_kind {
    /// The synthetic root.
    pub(crate) const ROOT: u8 = 0;
    /// An instance of a class.
    pub(crate) const INSTANCE: u8 = 1;
    /// An array of references.
    pub(crate) const OBJECT_ARRAY: u8 = 2;
    /// An array of primitive values.
    pub(crate) const PRIMITIVE_ARRAY: u8 = 3;
    /// A class.
    pub(crate) const CLASS: u8 = 4;
}

/// Kinds of edges in the table of edges, and whether their names are numbers.
pub(crate) const EDGE_KINDS: [(&str, bool); 9] = [
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
pub(crate) mod edge_kind {
    /// From the root; its name is the kind of root.
    pub(crate) const ROOT: u8 = 0;
    /// To the class of an object.
    pub(crate) const CLASS: u8 = 1;
    /// A field of an instance.
    pub(crate) const FIELD: u8 = 2;
    /// An element of an array.
    pub(crate) const ELEMENT: u8 = 3;
    /// A static field of a class.
    pub(crate) const STATIC: u8 = 4;
    /// To the superclass of a class.
    pub(crate) const SUPERCLASS: u8 = 5;
    /// To the loader of a class.
    pub(crate) const LOADER: u8 = 6;
    /// From a thread to a local of its stack; its name is the frame.
    pub(crate) const LOCAL: u8 = 7;
    /// From a weak, soft, phantom or final reference to its referent. The last kind, so that paths avoid it.
    pub(crate) const REFERENT: u8 = 8;
}

/// Synthetic names of edges that have no name in the dump.
#[derive(Clone, Copy)]
pub(crate) struct EdgeNames {
    /// Edge to the class of an object.
    pub class: StringId,
    /// Edge to a superclass.
    pub superclass: StringId,
    /// Edge to a loader.
    pub loader: StringId,
}

impl EdgeNames {
    /// Interns the names.
    pub(crate) fn intern(names: &mut NameWriter) -> Result<Self, StageError> {
        Ok(Self {
            class: names.intern(b"<class>")?,
            superclass: names.intern(b"<super>")?,
            loader: names.intern(b"<classloader>")?,
        })
    }

    /// Returns the names by edge kind; `None` for kinds with a name per edge.
    #[must_use]
    pub(crate) fn by_kind(self) -> Vec<Option<StringId>> {
        let mut names = vec![None; EDGE_KINDS.len()];
        for (kind, name) in
            [(edge_kind::CLASS, self.class), (edge_kind::SUPERCLASS, self.superclass), (edge_kind::LOADER, self.loader)]
        {
            names[usize::from(kind)] = Some(name);
        }
        names
    }
}
