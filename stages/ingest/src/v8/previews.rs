//! Stage `previews`: previews of the members of duplicate sets.
//!
//! * Computes: a preview of the first member of each set: the text of a string, the captured value of a number, the
//!   first properties of an object. Without columns of edges only strings have one.
//! * Resident memory: 6.2 bytes per node, and 9 per edge if edges are read, paged if they do not fit.
//! * Passes over disk: one over the sets; random reads of their first members, the edges of these and strings.
//! * Worst case: linear; of a node with very many edges only the first are read.
//! * Fails when: scratch cannot be read or written.
//! * Determinism: order of the sets.
//! * Reference: none needed.

use super::kinds::Kinds;
use super::names;
use super::snapshot::{DOCUMENT, Snapshot};
use crate::values::cut;
use heaplake_kit::Setting;
use heaplake_kit::access::{column, document, per_edge, per_node, texts};
use heaplake_kit::array_plan::{lookup, offsets};
use heaplake_kit::{
    ArrayPlan, ColumnReader, Job, Lookup, Offsets, ReadAt, Scratch, Stage, StageError, Stats, StringTable, StringWriter,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch::{self as columns, SET_PREVIEWS, STRING_HASH, STRINGS};
use std::fmt::Write;

/// Declaration of the stage.
pub const STAGE: Stage = Stage {
    name: "previews",
    when: |setting| setting.duplicates(),
    reads: &[
        document(DOCUMENT),
        texts(STRINGS),
        column(STRING_HASH),
        column(columns::SET_ROW),
        column(columns::NODE_KIND),
        column(columns::NODE_NAME),
        column(columns::NODE_EDGE_COUNT).when(looks_at_edges),
        column(columns::EDGE_KIND).when(looks_at_edges),
        column(columns::EDGE_NAME).when(looks_at_edges),
        column(columns::EDGE_TO).when(looks_at_edges),
    ],
    writes: &[texts(SET_PREVIEWS)],
    arrays: &[&[
        per_node::<u8>(),
        per_node::<StringId>(),
        Offsets::SIZE,
        per_edge::<u8>(),
        per_edge::<u32>(),
        per_edge::<NodeId>(),
    ]],
    fixed: 8 << 20,
    shares: true,
    passes: "sets once",
    run,
    ..Stage::NEW
};

/// Whether edges are read: only if their columns are kept for later stages anyway.
fn looks_at_edges(setting: &Setting<'_>) -> bool {
    setting.looks_into_references() || setting.has(TableName::Edges)
}

/// Limits in characters of a string by itself, and of one inside an object.
const LONG: usize = 120;
const SHORT: usize = 24;

/// Limit of rendered properties of an object.
const SHOWN: usize = 4;

/// Limit of edges read per node.
const LOOKED_AT: usize = 64;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let snapshot = Snapshot::load(scratch)?;
    let mut rows = ColumnReader::open(scratch, columns::SET_ROW)?;
    let count = rows.remaining();
    context.progress.begin(STAGE.name, count);
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let with_edges = looks_at_edges(&job.setting);
    let mut viewer = Viewer::open(&snapshot, with_edges, &mut plan, scratch)?;
    let mut writer = StringWriter::create(scratch, SET_PREVIEWS)?;
    for set in 0..count {
        let text = viewer.node(rows.next()?.example)?.unwrap_or_default();
        writer.push(text.as_bytes())?;
        context.step_every(1 << 14, set)?;
    }
    writer.finish()?;
    Ok(Stats { rows: count, spilled_bytes: plan.spilled_bytes() })
}

struct Edges {
    offsets: Offsets,
    kinds: Lookup<u8>,
    names: Lookup<u32>,
    to: Lookup<NodeId>,
}

struct Viewer {
    strings: StringTable,
    kind_of: Lookup<u8>,
    names: Lookup<StringId>,
    edges: Option<Edges>,
    kinds: Kinds,
    plain: StringId,
    array: StringId,
    proto: u32,
    value: u32,
}

impl Viewer {
    fn open(
        snapshot: &Snapshot,
        with_edges: bool,
        plan: &mut ArrayPlan<'_>,
        scratch: &Scratch,
    ) -> Result<Self, StageError> {
        let header = &snapshot.header;
        let [plain, array, proto, value] = names::find(scratch, ["Object", "Array", "__proto__", "value"])?;
        let (kind_of, names, offsets, edge_kinds, edge_names, to) = plan.make((
            lookup(columns::NODE_KIND),
            lookup(columns::NODE_NAME),
            with_edges.then(|| offsets(columns::NODE_EDGE_COUNT, columns::EDGE_TO)),
            with_edges.then(|| lookup(columns::EDGE_KIND)),
            with_edges.then(|| lookup(columns::EDGE_NAME)),
            with_edges.then(|| lookup(columns::EDGE_TO)),
        ))?;
        let edges = match (offsets, edge_kinds, edge_names, to) {
            (Some(offsets), Some(kinds), Some(names), Some(to)) => Some(Edges { offsets, kinds, names, to }),
            _ => None,
        };
        Ok(Self {
            strings: StringTable::open(scratch, STRINGS)?,
            kind_of,
            names,
            edges,
            kinds: Kinds::of(header),
            plain,
            array,
            proto: proto.0,
            value: value.0,
        })
    }

    /// Renders a node by itself.
    fn node(&mut self, node: NodeId) -> Result<Option<String>, StageError> {
        let kind = Some(self.kind_of.get(node.index())?);
        if kind == self.kinds.string {
            let name = self.names.get(node.index())?;
            return Ok(Some(self.quoted(name, LONG)));
        }
        if kind == self.kinds.number {
            return self.captured(node);
        }
        let is_object = kind == self.kinds.object && self.names.get(node.index())? != self.array;
        if is_object { self.object(node) } else { Ok(None) }
    }

    /// Returns the first edges of a node.
    fn edges(&mut self, node: NodeId) -> Result<Vec<(u8, u32, NodeId)>, StageError> {
        let Some(Edges { offsets, kinds, names, to }) = &mut self.edges else { return Ok(Vec::new()) };
        let range = offsets.range(node.index())?;
        range.take(LOOKED_AT).map(|at| Ok((kinds.get(at)?, names.get(at)?, to.get(at)?))).collect()
    }

    /// Returns the text of a captured number.
    fn captured(&mut self, node: NodeId) -> Result<Option<String>, StageError> {
        let edges = self.edges(node)?;
        let value = edges.iter().find(|&&(kind, name, _)| Some(kind) == self.kinds.internal && name == self.value);
        let Some(&(_, _, to)) = value else { return Ok(None) };
        let name = self.names.get(to.index())?;
        Ok(Some(self.strings.text(name.index()).into_owned()))
    }

    /// Renders an object by its first properties.
    fn object(&mut self, node: NodeId) -> Result<Option<String>, StageError> {
        if self.edges.is_none() {
            return Ok(None);
        }
        let edges = self.edges(node)?;
        let properties: Vec<(u32, NodeId)> = edges
            .iter()
            .filter(|&&(kind, name, _)| Some(kind) == self.kinds.property && name != self.proto)
            .map(|&(_, name, to)| (name, to))
            .collect();
        let mut text = String::new();
        let own = self.names.get(node.index())?;
        if own != self.plain {
            text += &cut(&self.strings.beginning(own.index(), SHORT + 1), SHORT);
            text.push(' ');
        }
        text.push('{');
        for (i, &(name, to)) in properties.iter().take(SHOWN).enumerate() {
            let separator = if i > 0 { ", " } else { "" };
            let value = self.inside(to)?;
            let name = cut(&self.strings.beginning(name as usize, SHORT + 1), SHORT);
            // Writing into a string cannot fail.
            let _ = write!(text, "{separator}{name}: {value}");
        }
        if properties.len() > SHOWN || edges.len() == LOOKED_AT {
            text += ", …";
        }
        text.push('}');
        Ok(Some(text))
    }

    /// Renders a node inside another one.
    fn inside(&mut self, node: NodeId) -> Result<String, StageError> {
        let (kind, name) = (Some(self.kind_of.get(node.index())?), self.names.get(node.index())?);
        if kind == self.kinds.string {
            return Ok(self.quoted(name, SHORT));
        }
        if kind == self.kinds.number {
            return Ok(self.captured(node)?.unwrap_or_else(|| "…".to_owned()));
        }
        Ok(match name {
            name if kind == self.kinds.object && name == self.plain => "{…}".to_owned(),
            name if kind == self.kinds.object && name == self.array => "[…]".to_owned(),
            name => match self.strings.beginning(name.index(), SHORT + 1) {
                text if text.is_empty() => "…".to_owned(),
                text => cut(&text, SHORT),
            },
        })
    }

    fn quoted(&self, name: StringId, most: usize) -> String {
        format!("{:?}", cut(&self.strings.beginning(name.index(), most + 1), most))
    }
}
