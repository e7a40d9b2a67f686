//! Writes the columns of nodes and edges node by node, for formats that do not keep their edges in memory.

use crate::degrees::InDegrees;
use crate::labels::{Label, LabelWriter};
use heaplake_kit::Setting;
use heaplake_kit::access::{Access, column};
use heaplake_kit::{ColumnWriter, Scratch, StageError, WriteAt, create_all, finish_all};
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch::{self as columns, DistanceSeed, EdgeKind, Metadata, edge_flags};

/// Columns that [`Output`] writes, for the declaration of a stage.
pub(crate) const WRITES: [Access; 16] = [
    column(columns::NODE_KIND),
    column(columns::NODE_CLASS),
    column(columns::NODE_SHALLOW),
    column(columns::NODE_SELF),
    column(columns::ESSENTIAL_DEGREE),
    column(columns::ESSENTIAL_TO),
    column(columns::AVOIDED_EDGE).if_any(),
    column(columns::AVOIDED_FROM).if_any(),
    column(columns::NODE_EDGE_COUNT).when(|setting| Wanted::of(setting).edge_counts()),
    column(columns::NODE_RETAINER_COUNT).when(|setting| Wanted::of(setting).nodes),
    column(columns::EDGE_KIND).when(|setting| Wanted::of(setting).edges),
    column(columns::EDGE_NAME).when(|setting| Wanted::of(setting).edges),
    column(columns::EDGE_TO).when(|setting| Wanted::of(setting).edges),
    column(columns::EDGE_FLAGS).when(|setting| Wanted::of(setting).edges),
    column(columns::ESSENTIAL_LABEL).when(|setting| Wanted::of(setting).labels),
    column(columns::ESSENTIAL_NAME).when(|setting| Wanted::of(setting).labels),
];

/// Returns [`WRITES`] and `more`; `ALL` is their total.
pub(crate) const fn writes_and<const MORE: usize, const ALL: usize>(more: [Access; MORE]) -> [Access; ALL] {
    assert!(ALL == WRITES.len() + MORE, "the number of all");
    let mut all = [WRITES[0]; ALL];
    let mut at = 0;
    while at < ALL {
        all[at] = if at < WRITES.len() { WRITES[at] } else { more[at - WRITES.len()] };
        at += 1;
    }
    all
}

/// Optional columns that a reader must write, by the tables of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// For the table of nodes, and for rules of findings that read numbers of edges.
    pub nodes: bool,
    /// For the table of edges.
    pub edges: bool,
    /// Labels of essential edges, which chains show.
    pub labels: bool,
}

impl Wanted {
    /// Derives them from the setting of the run.
    pub(crate) fn of(setting: &Setting<'_>) -> Self {
        Self {
            nodes: setting.node_details(),
            edges: setting.has(TableName::Edges),
            labels: setting.chains() || setting.retainer_trees(),
        }
    }

    /// Whether numbers of edges per node are written.
    #[must_use]
    pub(crate) fn edge_counts(self) -> bool {
        self.nodes || self.edges
    }
}

/// Effect of an edge on reachability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Essential {
    /// Keeps its target alive.
    Yes,
    /// Keeps its target alive, but so does an edge from the root: left out of the essential edges.
    Implied,
    /// Keeps its target alive, but paths from the root avoid it.
    Avoided,
    /// Does not keep its target alive.
    No,
}

/// Numbers of edges written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EdgeCounts {
    /// All edges.
    pub all: u64,
    /// Edges in the columns of essential edges.
    pub essential: u64,
}

impl EdgeCounts {
    /// Sets the metadata of a heap with one synthetic root, of node kind 0, and writes its distance seed.
    pub(crate) fn complete(
        self,
        metadata: &mut Metadata,
        node_kinds: &[&str],
        edge_kinds: Vec<EdgeKind>,
        scratch: &Scratch,
    ) -> Result<(), StageError> {
        ColumnWriter::write_each(scratch, columns::DISTANCE_SEED, [metadata.root])?;
        metadata.distance_seeds = vec![DistanceSeed { distance: 0, count: 1 }];
        (metadata.edge_count, metadata.essential_edge_count) = (self.all, self.essential);
        metadata.node_kinds = node_kinds.iter().map(|&name| name.to_owned()).collect();
        metadata.edge_kinds = edge_kinds;
        (metadata.synthetic_kinds, metadata.internal_kinds) = (vec![0], vec![0]);
        Ok(())
    }
}

struct EdgeColumns {
    kind: ColumnWriter<u8>,
    name: ColumnWriter<u32>,
    to: ColumnWriter<NodeId>,
    flags: ColumnWriter<u8>,
    /// Fixed name of each edge kind, for kinds that have one.
    names: Vec<Option<StringId>>,
}

/// Writes the columns. The edges of a node precede its [`end`](Self::end).
pub(crate) struct Output<D> {
    kind: ColumnWriter<u8>,
    class: ColumnWriter<ClassId>,
    shallow: ColumnWriter<u64>,
    edge_count: Option<ColumnWriter<u32>>,
    essential_degree: ColumnWriter<u32>,
    essential_to: ColumnWriter<NodeId>,
    /// Essential edges that paths avoid, and their sources; created with the first one.
    avoided: Option<(ColumnWriter<u64>, ColumnWriter<NodeId>)>,
    scratch: Scratch,
    in_degrees: Option<InDegrees<D>>,
    edges: Option<EdgeColumns>,
    labels: Option<LabelWriter>,
    /// The current node.
    pub node: NodeId,
    /// Edges of the current node so far.
    degree: u32,
    /// Essential edges of the current node so far.
    essential: u32,
    all_edges: u64,
}

impl<D: WriteAt<u8>> Output<D> {
    /// Starts at the root. `in_degrees` is `None` without a table of nodes; `edge_names` has the fixed name of each
    /// edge kind that has one.
    pub(crate) fn create(
        wanted: Wanted,
        in_degrees: Option<InDegrees<D>>,
        edge_names: Vec<Option<StringId>>,
        scratch: &Scratch,
    ) -> Result<Self, StageError> {
        let edges = if wanted.edges { Some(EdgeColumns::create(edge_names, scratch)?) } else { None };
        let labels = if wanted.labels { Some(LabelWriter::create(scratch)?) } else { None };
        let edge_count = wanted.edge_counts().then(|| ColumnWriter::create(scratch, columns::NODE_EDGE_COUNT));
        Ok(Self {
            kind: ColumnWriter::create(scratch, columns::NODE_KIND)?,
            class: ColumnWriter::create(scratch, columns::NODE_CLASS)?,
            shallow: ColumnWriter::create(scratch, columns::NODE_SHALLOW)?,
            edge_count: edge_count.transpose()?,
            essential_degree: ColumnWriter::create(scratch, columns::ESSENTIAL_DEGREE)?,
            essential_to: ColumnWriter::create(scratch, columns::ESSENTIAL_TO)?,
            avoided: None,
            scratch: scratch.clone(),
            in_degrees,
            edges,
            labels,
            node: NodeId(0),
            degree: 0,
            essential: 0,
            all_edges: 0,
        })
    }

    /// Prefetches the counter that an edge to this node changes.
    #[inline]
    pub(crate) fn prefetch(&self, to: NodeId) {
        if let Some(in_degrees) = &self.in_degrees {
            in_degrees.low.prefetch(to.index());
        }
    }

    /// Adds an edge of the current node. `name` returns a string id or an index, by the kind; kinds with a fixed name
    /// ignore it.
    #[inline]
    pub(crate) fn edge<const EDGES: bool>(
        &mut self,
        to: NodeId,
        kind: u8,
        name: impl Fn() -> u32,
        (essential, label): (Essential, Label),
    ) -> Result<(), StageError> {
        if let Some(in_degrees) = &mut self.in_degrees {
            in_degrees.add(to)?;
        }
        self.degree += 1;
        if matches!(essential, Essential::Yes | Essential::Avoided) && to != self.node {
            if essential == Essential::Avoided {
                self.avoid()?;
            }
            self.essential_to.push(to)?;
            self.essential += 1;
            if let Some(labels) = &mut self.labels {
                labels.push(label, &name)?;
            }
        }
        if EDGES && let Some(edges) = &mut self.edges {
            edges.push(to, kind, name(), essential != Essential::No && to != self.node)?;
        }
        Ok(())
    }

    /// Records that paths avoid the next essential edge.
    #[cold]
    fn avoid(&mut self) -> Result<(), StageError> {
        let (edges, from) = match &mut self.avoided {
            Some(avoided) => avoided,
            None => self.avoided.insert((
                ColumnWriter::create(&self.scratch, columns::AVOIDED_EDGE)?,
                ColumnWriter::create(&self.scratch, columns::AVOIDED_FROM)?,
            )),
        };
        edges.push(self.essential_to.len())?;
        from.push(self.node)
    }

    /// Completes the current node and starts the next.
    #[inline]
    pub(crate) fn end(&mut self, kind: u8, class: ClassId, shallow: u64) -> Result<(), StageError> {
        self.kind.push(kind)?;
        self.class.push(class)?;
        self.shallow.push(shallow)?;
        if let Some(edge_count) = &mut self.edge_count {
            edge_count.push(self.degree)?;
        }
        self.essential_degree.push(self.essential)?;
        self.all_edges += u64::from(self.degree);
        (self.degree, self.essential) = (0, 0);
        self.node.0 += 1;
        Ok(())
    }

    /// Completes the columns. The input states only shallow sizes, so self sizes share their column.
    pub(crate) fn finish(self, scratch: &Scratch) -> Result<EdgeCounts, StageError> {
        finish_all((self.kind, self.class, self.shallow))?;
        scratch.share(columns::NODE_SHALLOW, columns::NODE_SELF)?;
        finish_all((self.edge_count, self.essential_degree))?;
        let essential = self.essential_to.finish()?;
        if let Some((edges, from)) = self.avoided {
            edges.finish()?;
            from.finish()?;
        }
        if let Some(in_degrees) = self.in_degrees {
            in_degrees.write(scratch, columns::NODE_RETAINER_COUNT)?;
        }
        if let Some(edges) = self.edges {
            edges.finish()?;
        }
        if let Some(labels) = self.labels {
            labels.finish()?;
        }
        Ok(EdgeCounts { all: self.all_edges, essential })
    }
}

impl EdgeColumns {
    fn create(names: Vec<Option<StringId>>, scratch: &Scratch) -> Result<Self, StageError> {
        let (kind, name, to, flags) =
            create_all(scratch, (columns::EDGE_KIND, columns::EDGE_NAME, columns::EDGE_TO, columns::EDGE_FLAGS))?;
        Ok(Self { kind, name, to, flags, names })
    }

    fn push(&mut self, to: NodeId, kind: u8, name: u32, essential: bool) -> Result<(), StageError> {
        self.kind.push(kind)?;
        let fixed = self.names.get(usize::from(kind)).copied().flatten();
        self.name.push(fixed.map_or(name, |name| name.0))?;
        self.to.push(to)?;
        self.flags.push(if essential { edge_flags::ESSENTIAL | edge_flags::FOLLOWED } else { 0 })
    }

    fn finish(self) -> Result<(), StageError> {
        finish_all((self.kind, self.name, self.to, self.flags))
    }
}
