//! Stage `previews`: what the members of sets of duplicates look like, for people.
//!
//! * Computes: for the first member of each set a short text: that of a string, the number that was captured of a number,
//!   the first properties of an object. Without columns of edges only strings have one.
//! * Reads: `set.row`; `node.{kind,name,edge_count}`, `edge.{kind,name,to}` and strings at random.
//! * Writes: `set.preview`.
//! * Resident memory: offsets 4 bytes per node, where the budget allows, paged where not.
//! * Passes over disk: one over the sets.
//! * Worst case: linear; of a node with very many edges only the first are looked at.
//! * Fails when: scratch cannot be read or written.
//! * Determinism: order of the sets.
//! * Reference: none needed.

use super::{Snapshot, names};
use heaplake_kit::{
    ArrayPlan, ColumnMap, ColumnReader, Context, Offsets, Scratch, StageError, StageInfo, Stats, StringTable,
    StringWriter,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, SET_PREVIEWS, STRINGS};
use std::fmt::Write;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "previews",
    version: 1,
    bytes_per_node: 4,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 8 << 20,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "sets once",
};

/// Columns that this stage reads, though others that could remove them are done by then.
pub const READS: [&str; 3] = ["edge.kind", "edge.name", "edge.to"];

/// Characters of a string on its own, at most, and inside an object.
const LONG: usize = 120;
const SHORT: usize = 24;

/// Properties of an object that are shown.
const SHOWN: usize = 4;

/// Edges of a node that are looked at.
const LOOKED_AT: usize = 64;

/// Writes the previews.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let snapshot = Snapshot::load(scratch)?;
    let mut rows = ColumnReader::open(scratch, columns::SET_ROW)?;
    let count = rows.remaining();
    context.progress.begin(STAGE.name, count);
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[Offsets::bytes(snapshot.facts.node_count)]);
    let edges = match scratch.has(columns::EDGE_TO) {
        true => Some(Edges {
            offsets: Offsets::load(&mut room, &context.budget, scratch, columns::NODE_EDGE_COUNT)?,
            kinds: ColumnMap::open(scratch, columns::EDGE_KIND, None)?,
            names: ColumnMap::open(scratch, columns::EDGE_NAME, None)?,
            to: ColumnMap::open(scratch, columns::EDGE_TO, None)?,
        }),
        false => None,
    };
    let ids = names::find(scratch, &["Object", "Array", "__proto__", "value"])?;
    let header = &snapshot.header;
    let mut viewer = Viewer {
        strings: StringTable::open(scratch, STRINGS)?,
        kinds: ColumnMap::open(scratch, columns::NODE_KIND, None)?,
        names: ColumnMap::open(scratch, columns::NODE_NAME, None)?,
        edges,
        string: header.node_type("string"),
        number: header.node_type("number"),
        object: header.node_type("object"),
        property: header.edge_type("property"),
        internal: header.edge_type("internal"),
        plain: ids[0],
        array: ids[1],
        proto: ids[2].0,
        value: ids[3].0,
    };
    let mut writer = StringWriter::create(scratch, SET_PREVIEWS)?;
    for set in 0..count {
        let text = viewer.node(rows.next()?.example)?.unwrap_or_default();
        writer.push(text.as_bytes())?;
        if set % (1 << 14) == 0 && set > 0 {
            context.step(1 << 14)?;
        }
    }
    writer.finish()?;
    context.progress.end();
    Ok(Stats { rows: count, spilled_bytes: room.spilled_bytes() })
}

struct Edges {
    offsets: Offsets,
    kinds: ColumnMap<u8>,
    names: ColumnMap<u32>,
    to: ColumnMap<NodeId>,
}

struct Viewer {
    strings: StringTable,
    kinds: ColumnMap<u8>,
    names: ColumnMap<StringId>,
    edges: Option<Edges>,
    string: Option<u8>,
    number: Option<u8>,
    object: Option<u8>,
    property: Option<u8>,
    internal: Option<u8>,
    plain: StringId,
    array: StringId,
    proto: u32,
    value: u32,
}

impl Viewer {
    /// A node on its own.
    fn node(&mut self, node: NodeId) -> Result<Option<String>, StageError> {
        let kind = Some(self.kinds[node.index()]);
        if kind == self.string {
            return Ok(Some(self.quoted(self.names[node.index()], LONG)));
        }
        if kind == self.number {
            return self.captured(node);
        }
        if kind == self.object && self.names[node.index()] != self.array { self.object(node) } else { Ok(None) }
    }

    /// The first edges of a node.
    fn edges(&mut self, node: NodeId) -> Result<Vec<(u8, u32, NodeId)>, StageError> {
        let Some(edges) = &mut self.edges else { return Ok(Vec::new()) };
        let range = edges.offsets.range(node.index())?;
        Ok(range.take(LOOKED_AT).map(|at| (edges.kinds[at], edges.names[at], edges.to[at])).collect())
    }

    /// The text of a number, if it was captured.
    fn captured(&mut self, node: NodeId) -> Result<Option<String>, StageError> {
        let edges = self.edges(node)?;
        let value = edges.iter().find(|&&(kind, name, _)| Some(kind) == self.internal && name == self.value);
        Ok(value.map(|&(_, _, to)| self.strings.text(self.names[to.index()].index()).into_owned()))
    }

    /// An object by its first properties.
    fn object(&mut self, node: NodeId) -> Result<Option<String>, StageError> {
        if self.edges.is_none() {
            return Ok(None);
        }
        let edges = self.edges(node)?;
        let properties: Vec<(u32, NodeId)> = edges
            .iter()
            .filter(|&&(kind, name, _)| Some(kind) == self.property && name != self.proto)
            .map(|&(_, name, to)| (name, to))
            .collect();
        let mut text = String::new();
        let own = self.names[node.index()];
        if own != self.plain {
            text += &cut(&self.strings.text(own.index()), SHORT);
            text.push(' ');
        }
        text.push('{');
        for (i, &(name, to)) in properties.iter().take(SHOWN).enumerate() {
            let separator = if i > 0 { ", " } else { "" };
            let value = self.inside(to)?;
            let name = cut(&self.strings.text(name as usize), SHORT);
            // Writing into a string cannot fail.
            let _ = write!(text, "{separator}{name}: {value}");
        }
        if properties.len() > SHOWN || edges.len() == LOOKED_AT {
            text += ", …";
        }
        text.push('}');
        Ok(Some(text))
    }

    /// A node inside another one.
    fn inside(&mut self, node: NodeId) -> Result<String, StageError> {
        let (kind, name) = (Some(self.kinds[node.index()]), self.names[node.index()]);
        if kind == self.string {
            return Ok(self.quoted(name, SHORT));
        }
        if kind == self.number {
            return Ok(self.captured(node)?.unwrap_or_else(|| "…".to_owned()));
        }
        Ok(match name {
            name if kind == self.object && name == self.plain => "{…}".to_owned(),
            name if kind == self.object && name == self.array => "[…]".to_owned(),
            name => match self.strings.text(name.index()) {
                text if text.is_empty() => "…".to_owned(),
                text => cut(&text, SHORT),
            },
        })
    }

    fn quoted(&self, name: StringId, most: usize) -> String {
        format!("{:?}", cut(&self.strings.text(name.index()), most))
    }
}

/// At most so many characters.
fn cut(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
