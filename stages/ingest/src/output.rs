//! The columns of nodes and edges, written node by node, for formats in which edges need not be kept.

use crate::degrees::InDegrees;
use crate::ways::{Way, Ways};
use heaplake_kit::{ColumnWriter, Scratch, StageError, WriteAt};
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, edge_flags};

/// Which tables are wanted, as far as a reader of a format cares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The table of nodes, or what else looks at numbers of edges.
    pub nodes: bool,
    /// The table of edges.
    pub edges: bool,
    /// That of chains, which asks how essential edges are called.
    pub ways: bool,
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

struct EdgeColumns {
    kind: ColumnWriter<u8>,
    name: ColumnWriter<u32>,
    to: ColumnWriter<NodeId>,
    flags: ColumnWriter<u8>,
    /// Names of edges whose kind has one name for all, by kind.
    names: Vec<Option<StringId>>,
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

impl<D: WriteAt<u8>> Output<D> {
    /// Begins with the root. `in_degrees` is nothing where there is no table of nodes; `edge_names` are those of kinds
    /// all of whose edges have one name, by kind.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn create(
        wanted: Wanted,
        in_degrees: Option<InDegrees<D>>,
        edge_names: Vec<Option<StringId>>,
        scratch: &Scratch,
    ) -> Result<Self, StageError> {
        let edges = if wanted.edges { Some(EdgeColumns::create(edge_names, scratch)?) } else { None };
        let ways = if wanted.ways { Some(Ways::create(scratch)?) } else { None };
        let counted = wanted.edges || wanted.nodes;
        Ok(Self {
            kind: ColumnWriter::create(scratch, columns::NODE_KIND)?,
            class: ColumnWriter::create(scratch, columns::NODE_CLASS)?,
            shallow: ColumnWriter::create(scratch, columns::NODE_SHALLOW)?,
            edge_count: if counted { Some(ColumnWriter::create(scratch, columns::NODE_EDGE_COUNT)?) } else { None },
            degree: ColumnWriter::create(scratch, columns::ESSENTIAL_DEGREE)?,
            holds: ColumnWriter::create(scratch, columns::ESSENTIAL_TO)?,
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
    fn create(names: Vec<Option<StringId>>, scratch: &Scratch) -> Result<Self, StageError> {
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
        let fixed = self.names.get(usize::from(kind)).copied().flatten();
        self.name.push(fixed.map_or(name, |name| name.0))?;
        self.to.push(to)?;
        self.flags.push(if holds { edge_flags::ESSENTIAL | edge_flags::FOLLOWED } else { 0 })
    }

    fn finish(self) -> Result<(), StageError> {
        self.kind.finish()?;
        self.name.finish()?;
        self.to.finish()?;
        self.flags.finish().map(drop)
    }
}
