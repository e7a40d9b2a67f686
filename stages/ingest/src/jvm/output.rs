//! The columns of nodes and edges, written node by node.

use super::Choices;
use super::degrees::InDegrees;
use super::names::Names;
use super::ways::{Way, Ways};
use heaplake_kit::{ColumnWriter, Scratch, StageError, Store};
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, edge_flags};

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

/// What an edge means for reachability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// It keeps its target alive.
    Yes,
    /// It does, but so does the root itself: the edge need not be looked at.
    Implied,
    /// It does not.
    No,
}

/// Names of edges that have no name in the dump.
#[derive(Clone, Copy)]
pub struct EdgeNames {
    /// To the class of an object.
    pub class: StringId,
    /// To a superclass.
    pub superclass: StringId,
    /// To a loader.
    pub loader: StringId,
}

impl EdgeNames {
    /// Takes them into the string table.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn intern(names: &mut Names) -> Result<Self, StageError> {
        Ok(Self {
            class: names.intern(b"<class>")?,
            superclass: names.intern(b"<super>")?,
            loader: names.intern(b"<classloader>")?,
        })
    }
}

struct EdgeColumns {
    kind: ColumnWriter<u8>,
    name: ColumnWriter<u32>,
    to: ColumnWriter<NodeId>,
    flags: ColumnWriter<u8>,
    names: EdgeNames,
}

/// See the module. All edges of a node come before the node is ended.
pub struct Output<D> {
    kind: ColumnWriter<u8>,
    class: ColumnWriter<ClassId>,
    shallow: ColumnWriter<u64>,
    /// Where a table wants it.
    edge_count: Option<ColumnWriter<u32>>,
    degree: ColumnWriter<u32>,
    holds: ColumnWriter<NodeId>,
    /// Where a table wants them.
    in_degrees: Option<InDegrees<D>>,
    edges: Option<EdgeColumns>,
    /// Where somebody asks for them.
    ways: Option<Ways>,
    /// The node at hand.
    node: NodeId,
    /// Its edges so far.
    count: u32,
    /// Those that are written as holding.
    held: u32,
    all_edges: u64,
}

impl<D: Store<u8>> Output<D> {
    /// Begins with the root. `in_degrees` is nothing where there is no table of nodes.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn create(
        choices: Choices,
        in_degrees: Option<InDegrees<D>>,
        names: EdgeNames,
        scratch: &Scratch,
    ) -> Result<Self, StageError> {
        let edges = if choices.edges { Some(EdgeColumns::create(names, scratch)?) } else { None };
        let ways = if choices.ways { Some(Ways::create(scratch)?) } else { None };
        let counted = choices.edges || choices.nodes;
        Ok(Self {
            kind: ColumnWriter::create(scratch, columns::NODE_KIND)?,
            class: ColumnWriter::create(scratch, columns::NODE_CLASS)?,
            shallow: ColumnWriter::create(scratch, columns::NODE_SHALLOW)?,
            edge_count: if counted { Some(ColumnWriter::create(scratch, columns::NODE_EDGE_COUNT)?) } else { None },
            degree: ColumnWriter::create(scratch, columns::HOLDS_DEGREE)?,
            holds: ColumnWriter::create(scratch, columns::HOLDS_TO)?,
            in_degrees,
            edges,
            ways,
            node: NodeId(0),
            count: 0,
            held: 0,
            all_edges: 0,
        })
    }

    /// The node whose edges are being written.
    #[inline]
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// An edge of the node. The name is that of a string or a number, as the kind has it, or nothing for kinds that always
    /// have the same.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    #[inline]
    pub fn edge<const EDGES: bool>(
        &mut self,
        to: NodeId,
        kind: u8,
        name: impl Fn() -> u32,
        (holding, way): (Holding, Way),
    ) -> Result<(), StageError> {
        if let Some(in_degrees) = &mut self.in_degrees {
            in_degrees.add(to)?;
        }
        self.count += 1;
        if holding == Holding::Yes && to != self.node {
            self.holds.push(to)?;
            self.held += 1;
            if let Some(ways) = &mut self.ways {
                ways.push(way, &name)?;
            }
        }
        if EDGES && let Some(edges) = &mut self.edges {
            edges.push(to, kind, name(), holding != Holding::No && to != self.node)?;
        }
        Ok(())
    }

    /// Ends the node, and begins the next.
    ///
    /// # Errors
    /// [`StageError::Io`].
    #[inline]
    pub fn end(&mut self, kind: u8, class: ClassId, shallow: u64) -> Result<(), StageError> {
        self.kind.push(kind)?;
        self.class.push(class)?;
        self.shallow.push(shallow)?;
        if let Some(edge_count) = &mut self.edge_count {
            edge_count.push(self.count)?;
        }
        self.degree.push(self.held)?;
        self.all_edges += u64::from(self.count);
        (self.count, self.held) = (0, 0);
        self.node.0 += 1;
        Ok(())
    }

    /// Ends the columns; the numbers of edges and of those written as holding.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(self, scratch: &Scratch) -> Result<(u64, u64), StageError> {
        self.kind.finish()?;
        self.class.finish()?;
        self.shallow.finish()?;
        if let Some(edge_count) = self.edge_count {
            edge_count.finish()?;
        }
        self.degree.finish()?;
        let holding = self.holds.finish()?;
        if let Some(in_degrees) = self.in_degrees {
            in_degrees.write(scratch, columns::NODE_RETAINER_COUNT)?;
        }
        if let Some(edges) = self.edges {
            edges.finish()?;
        }
        if let Some(ways) = self.ways {
            ways.finish()?;
        }
        Ok((self.all_edges, holding))
    }
}

impl EdgeColumns {
    fn create(names: EdgeNames, scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            kind: ColumnWriter::create(scratch, columns::EDGE_KIND)?,
            name: ColumnWriter::create(scratch, columns::EDGE_NAME)?,
            to: ColumnWriter::create(scratch, columns::EDGE_TO)?,
            flags: ColumnWriter::create(scratch, columns::EDGE_FLAGS)?,
            names,
        })
    }

    fn push(&mut self, to: NodeId, kind: u8, name: u32, holds: bool) -> Result<(), StageError> {
        self.kind.push(kind)?;
        self.name.push(match kind {
            edge_kind::CLASS => self.names.class.0,
            edge_kind::SUPERCLASS => self.names.superclass.0,
            edge_kind::LOADER => self.names.loader.0,
            _ => name,
        })?;
        self.to.push(to)?;
        self.flags.push(if holds { edge_flags::HOLDS | edge_flags::FOLLOWED } else { 0 })
    }

    fn finish(self) -> Result<(), StageError> {
        self.kind.finish()?;
        self.name.finish()?;
        self.to.finish()?;
        self.flags.finish().map(drop)
    }
}
