//! Random access to nodes and edges, and source locations of functions. Used by [`super::resources`].

use super::kinds::Kinds;
use super::names;
use super::scripts;
use super::snapshot::Snapshot;
use heaplake_kit::array_plan::{lookup, offsets};
use heaplake_kit::{
    ArrayPlan, ColumnMap, Lookup, Offsets, ReadAt, Reservation, Scratch, StageError, StringTable, StringWriter,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::resources::{NONE, RESOURCE_TEXTS};
use heaplake_schemas::scratch::{self as columns, STRINGS};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// An edge.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub kind: Option<u8>,
    /// String id, or number.
    pub name: u32,
    pub to: u32,
}

/// The graph.
pub(super) struct Graph {
    pub kinds: Kinds,
    pub strings: StringTable,
    offsets: Offsets,
    kind_of: Lookup<u8>,
    name_of: Lookup<StringId>,
    edge_kinds: Lookup<u8>,
    edge_names: Lookup<u32>,
    edge_to: Lookup<NodeId>,
}

impl Graph {
    /// Opens the columns.
    pub(super) fn open(snapshot: &Snapshot, plan: &mut ArrayPlan<'_>, scratch: &Scratch) -> Result<Self, StageError> {
        let (offsets, kind_of, name_of, edge_kinds, edge_names, edge_to) = plan.make((
            offsets(columns::NODE_EDGE_COUNT, columns::EDGE_TO),
            lookup(columns::NODE_KIND),
            lookup(columns::NODE_NAME),
            lookup(columns::EDGE_KIND),
            lookup(columns::EDGE_NAME),
            lookup(columns::EDGE_TO),
        ))?;
        let strings = StringTable::open(scratch, STRINGS)?;
        Ok(Self {
            kinds: Kinds::of(&snapshot.header),
            strings,
            offsets,
            kind_of,
            name_of,
            edge_kinds,
            edge_names,
            edge_to,
        })
    }

    /// Returns the kind of a node.
    #[inline]
    pub(super) fn kind(&mut self, node: u32) -> Result<Option<u8>, StageError> {
        Ok(Some(self.kind_of.get(node as usize)?))
    }

    /// Returns the name of a node.
    #[inline]
    pub(super) fn name(&mut self, node: u32) -> Result<StringId, StageError> {
        Ok(self.name_of.get(node as usize)?)
    }

    /// Returns the name of a node as text.
    pub(super) fn text(&mut self, node: u32) -> Result<&[u8], StageError> {
        let name = self.name(node)?;
        Ok(name.get().map_or(b"", |name| self.strings.get(name as usize)))
    }

    /// Number of nodes.
    pub(super) fn count(&self) -> u32 {
        self.offsets.groups() as u32
    }

    /// Returns the positions of a node's edges.
    #[inline]
    pub(super) fn range(&mut self, node: u32) -> Result<Range<usize>, StageError> {
        Ok(self.offsets.range(node as usize)?)
    }

    /// Returns the edge at a position.
    #[inline]
    pub(super) fn edge(&mut self, at: usize) -> Result<Edge, StageError> {
        let kind = Some(self.edge_kinds.get(at)?);
        Ok(Edge { kind, name: self.edge_names.get(at)?, to: self.edge_to.get(at)?.0 })
    }

    /// Returns the target of the first edge with a kind and name.
    pub(super) fn target(&mut self, node: u32, kind: Option<u8>, name: StringId) -> Result<Option<u32>, StageError> {
        for at in self.range(node)? {
            let edge = self.edge(at)?;
            if edge.kind == kind && edge.name == name.0 {
                return Ok(Some(edge.to));
            }
        }
        Ok(None)
    }

    /// Returns the target of the first internal edge with a name.
    pub(super) fn inner(&mut self, node: u32, name: StringId) -> Result<Option<u32>, StageError> {
        self.target(node, self.kinds.internal, name)
    }
}

/// Names of edges from a function to its script.
const LINKS: [&str; 4] = ["shared", "script", "script_or_debug_info", "raw_script"];
/// Memory per text: an entry in a table that may be half empty and growing.
const TEXT_BYTES: u64 = 64;

/// Source locations of functions as texts, deduplicated.
pub(super) struct Places {
    nodes: ColumnMap<NodeId>,
    lines: ColumnMap<u32>,
    links: [StringId; 4],
    /// Name of the edge from a script without a path to its URL.
    url: StringId,
    /// By script and line; names have no line.
    known: FxHashMap<(StringId, u32), u32>,
    texts: StringWriter,
    memory: Reservation,
}

impl Places {
    /// Starts empty.
    pub(super) fn open(scratch: &Scratch, memory: Reservation) -> Result<Self, StageError> {
        Ok(Self {
            nodes: ColumnMap::uncounted(scratch, columns::LOCATION_NODE)?,
            lines: ColumnMap::uncounted(scratch, columns::LOCATION_LINE)?,
            links: names::find(scratch, LINKS)?,
            url: names::find(scratch, ["source_url"])?[0],
            known: FxHashMap::default(),
            texts: StringWriter::create(scratch, RESOURCE_TEXTS)?,
            memory,
        })
    }

    /// Returns the line of a function, if the file has it.
    pub(super) fn line(&self, function: u32) -> Option<u32> {
        let at = self.nodes.partition_point(|node| node.0 < function);
        (self.nodes.get(at)?.0 == function).then(|| self.lines[at])
    }

    /// Returns the text number of a function's source location; [`NONE`] if the file lacks it.
    pub(super) fn of(&mut self, function: u32, graph: &mut Graph) -> Result<u32, StageError> {
        let Some(line) = self.line(function) else { return Ok(NONE) };
        let Some(shared) = graph.inner(function, self.links[0])? else { return Ok(NONE) };
        for link in 1..self.links.len() {
            let Some(script) = graph.inner(shared, self.links[link])? else { continue };
            let name = graph.name(script)?;
            let text = String::from_utf8_lossy(graph.text(script)?);
            let path = scripts::path(&text);
            if !path.is_empty() {
                return self.text((name, line), &format!("{path}:{}", u64::from(line) + 1));
            }
            let Some(url) = graph.inner(script, self.url)? else { continue };
            let (name, text) = (graph.name(url)?, String::from_utf8_lossy(graph.text(url)?).into_owned());
            return self.text((name, line), &format!("{text}:{}", u64::from(line) + 1));
        }
        Ok(NONE)
    }

    /// Returns the text number of a function's name, from its code; [`NONE`] if it has none.
    pub(super) fn name(&mut self, code: u32, graph: &mut Graph) -> Result<u32, StageError> {
        let id = graph.name(code)?;
        let text = String::from_utf8_lossy(graph.text(code)?);
        let name = match text.strip_prefix("system / ") {
            None => &*text,
            Some(part) => part.strip_prefix("SharedFunctionInfo / ").unwrap_or(""),
        };
        if name.is_empty() || name.starts_with('(') { Ok(NONE) } else { self.text((id, NONE), name) }
    }

    fn text(&mut self, key: (StringId, u32), text: &str) -> Result<u32, StageError> {
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        self.memory.grow(TEXT_BYTES)?;
        let number = self.texts.count() as u32;
        self.texts.push(text.as_bytes())?;
        self.known.insert(key, number);
        Ok(number)
    }

    /// Writes the texts.
    pub(super) fn finish(self) -> Result<(), StageError> {
        self.texts.finish().map(drop)
    }
}
