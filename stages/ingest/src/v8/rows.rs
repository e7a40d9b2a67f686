//! Rows of numbers, as the file has them, into columns.

use super::header::{Header, position};
use crate::json::BadNumber;
use heaplake_kit::{ColumnWriter, Scratch, StageError};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch as columns;

/// What writing a batch of rows gives: an I/O error, or a number that cannot be.
pub type Written = Result<Result<(), BadNumber>, StageError>;

/// The largest string index that was used, to be checked once the number of strings is known.
#[derive(Clone, Debug, Default)]
pub struct LargestName {
    /// The index.
    pub index: u64,
    /// Where it was used, such as `nodes`.
    pub section: &'static str,
    /// In which row.
    pub row: u64,
}

impl LargestName {
    fn see(&mut self, names: impl Iterator<Item = u64>, section: &'static str, first_row: u64) {
        for (row, index) in names.enumerate() {
            if index > self.index || self.section.is_empty() {
                *self = Self { index, section, row: first_row + row as u64 };
            }
        }
    }
}

/// One field of a batch of rows.
fn field(rows: &[u64], width: usize, at: usize) -> impl Iterator<Item = u64> {
    rows.iter().skip(at).step_by(width).copied()
}

/// Checks that a field stays below `limit` and says which number does not.
fn below(rows: &[u64], width: usize, at: usize, limit: u64, name: &str) -> Result<(), BadNumber> {
    // The largest first: most batches need no search.
    match field(rows, width, at).max() {
        Some(largest) if largest >= limit => {
            let row = field(rows, width, at).position(|value| value >= limit).unwrap_or(0);
            Err(BadNumber { index: row * width + at, expected: format!("{name} below {limit}") })
        }
        _ => Ok(()),
    }
}

const U32: u64 = 1 << 32;

macro_rules! check {
    ($result:expr) => {
        if let Err(bad) = $result {
            return Ok(Err(bad));
        }
    };
}

/// Writes the node columns.
pub struct NodeRows {
    fields: super::header::NodeFields,
    types: u64,
    rows: u64,
    edges: u64,
    detached_states: bool,
    kind: ColumnWriter<u8>,
    name: ColumnWriter<StringId>,
    id: ColumnWriter<u64>,
    self_size: ColumnWriter<u64>,
    edge_count: ColumnWriter<u32>,
    trace_node: Option<ColumnWriter<u32>>,
    detachedness: Option<ColumnWriter<u8>>,
    native_size: Option<ColumnWriter<u64>>,
}

impl NodeRows {
    /// Starts the columns.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(header: &Header, scratch: &Scratch) -> Result<Self, StageError> {
        let fields = header.node.clone();
        Ok(Self {
            types: header.node_types.len() as u64,
            rows: 0,
            edges: 0,
            detached_states: false,
            kind: ColumnWriter::create(scratch, columns::NODE_KIND)?,
            name: ColumnWriter::create(scratch, columns::NODE_NAME)?,
            id: ColumnWriter::create(scratch, columns::NODE_ID)?,
            self_size: ColumnWriter::create(scratch, columns::NODE_SELF)?,
            edge_count: ColumnWriter::create(scratch, columns::NODE_EDGE_COUNT)?,
            trace_node: fields.trace_node.map(|_| ColumnWriter::create(scratch, columns::NODE_TRACE)).transpose()?,
            detachedness: fields
                .detachedness
                .map(|_| ColumnWriter::create(scratch, columns::NODE_DETACHED))
                .transpose()?,
            native_size: fields.native_size.map(|_| ColumnWriter::create(scratch, columns::NODE_NATIVE)).transpose()?,
            fields,
        })
    }

    /// Writes a batch of whole rows.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn write(&mut self, rows: &[u64], names: &mut LargestName) -> Written {
        let NodeRows { fields, .. } = self;
        let width = fields.width;
        check!(below(rows, width, fields.kind, self.types, "a node type"));
        check!(below(rows, width, fields.name, U32 - 1, "a string index"));
        check!(below(rows, width, fields.edge_count, U32, "an edge count"));
        names.see(field(rows, width, fields.name), "nodes", self.rows);
        field(rows, width, fields.kind).try_for_each(|value| self.kind.push(value as u8))?;
        field(rows, width, fields.name).try_for_each(|value| self.name.push(StringId(value as u32)))?;
        field(rows, width, fields.id).try_for_each(|value| self.id.push(value))?;
        field(rows, width, fields.self_size).try_for_each(|value| self.self_size.push(value))?;
        field(rows, width, fields.edge_count).try_for_each(|value| self.edge_count.push(value as u32))?;
        self.edges += field(rows, width, fields.edge_count).sum::<u64>();
        if let (Some(at), Some(column)) = (fields.trace_node, &mut self.trace_node) {
            check!(below(rows, width, at, U32, "a trace node id"));
            field(rows, width, at).try_for_each(|value| column.push(value as u32))?;
        }
        if let (Some(at), Some(column)) = (fields.detachedness, &mut self.detachedness) {
            check!(below(rows, width, at, 4, "a detachedness"));
            self.detached_states |= field(rows, width, at).any(|value| value != 0);
            field(rows, width, at).try_for_each(|value| column.push(value as u8))?;
        }
        if let (Some(at), Some(column)) = (fields.native_size, &mut self.native_size) {
            field(rows, width, at).try_for_each(|value| column.push(value))?;
        }
        self.rows += (rows.len() / width) as u64;
        Ok(Ok(()))
    }

    /// Ends the columns: the number of edges that the nodes announce.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(self) -> Result<u64, StageError> {
        self.kind.finish()?;
        self.name.finish()?;
        self.id.finish()?;
        self.self_size.finish()?;
        self.edge_count.finish()?;
        self.trace_node.map(ColumnWriter::finish).transpose()?;
        self.detachedness.map(ColumnWriter::finish).transpose()?;
        self.native_size.map(ColumnWriter::finish).transpose()?;
        Ok(self.edges)
    }
}

/// Writes the edge columns.
pub struct EdgeRows {
    fields: super::header::EdgeFields,
    types: u64,
    indexed: Vec<bool>,
    node_width: u64,
    nodes: u64,
    rows: u64,
    kind: ColumnWriter<u8>,
    name: ColumnWriter<u32>,
    to: ColumnWriter<NodeId>,
}

impl EdgeRows {
    /// Starts the columns.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(header: &Header, scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            fields: header.edge.clone(),
            types: header.edge_types.len() as u64,
            indexed: header.edge_types.iter().map(|name| is_indexed(name)).collect(),
            node_width: header.node.width as u64,
            nodes: header.node_count,
            rows: 0,
            kind: ColumnWriter::create(scratch, columns::EDGE_KIND)?,
            name: ColumnWriter::create(scratch, columns::EDGE_NAME)?,
            to: ColumnWriter::create(scratch, columns::EDGE_TO)?,
        })
    }

    /// Writes a batch of whole rows.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn write(&mut self, rows: &[u64], names: &mut LargestName) -> Written {
        let EdgeRows { fields, indexed, node_width, .. } = self;
        let (width, node_width) = (fields.width, *node_width);
        check!(below(rows, width, fields.kind, self.types, "an edge type"));
        check!(below(rows, width, fields.name, U32, "a string index or element index"));
        check!(below(rows, width, fields.to, self.nodes * node_width, "a node offset"));
        field(rows, width, fields.kind).try_for_each(|value| self.kind.push(value as u8))?;
        field(rows, width, fields.name).try_for_each(|value| self.name.push(value as u32))?;
        let named =
            rows.chunks_exact(width).map(|row| if indexed[row[fields.kind] as usize] { 0 } else { row[fields.name] });
        names.see(named, "edges", self.rows);
        let mut misaligned = None;
        for (row, offset) in field(rows, width, fields.to).enumerate() {
            if offset % node_width != 0 {
                misaligned = misaligned.or(Some(row));
            }
            self.to.push(NodeId((offset / node_width) as u32))?;
        }
        if let Some(row) = misaligned {
            let expected = format!("a node offset that is a multiple of {node_width}");
            return Ok(Err(BadNumber { index: row * width + fields.to, expected }));
        }
        self.rows += (rows.len() / width) as u64;
        Ok(Ok(()))
    }

    /// Ends the columns.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(self) -> Result<(), StageError> {
        self.kind.finish()?;
        self.name.finish()?;
        self.to.finish()?;
        Ok(())
    }
}

/// Whether edges of this type are numbered rather than named.
#[must_use]
pub fn is_indexed(edge_type: &str) -> bool {
    matches!(edge_type, "element" | "hidden")
}

/// A source location of a node, as the file gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The node.
    pub node: u32,
    /// Place among the file's locations: of two for one node, the later counts.
    pub order: u32,
    /// Script.
    pub script: u32,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// Reads rows of `locations` into [`Location`]s.
pub struct LocationRows {
    /// Numbers in a row.
    pub width: usize,
    object: usize,
    script: usize,
    line: usize,
    column: usize,
    node_width: u64,
    nodes: u64,
}

impl LocationRows {
    /// Nothing when the header names no such fields.
    #[must_use]
    pub fn new(header: &Header) -> Option<Self> {
        let fields = &header.location_fields;
        Some(Self {
            width: fields.len(),
            object: position(fields, "object_index")?,
            script: position(fields, "script_id")?,
            line: position(fields, "line")?,
            column: position(fields, "column")?,
            node_width: header.node.width as u64,
            nodes: header.node_count,
        })
    }

    /// Hands the locations of a batch of rows to `each`.
    ///
    /// # Errors
    /// What `each` returns.
    pub fn read(&self, rows: &[u64], mut each: impl FnMut(Location) -> Result<(), StageError>) -> Written {
        check!(below(rows, self.width, self.object, self.nodes * self.node_width, "a node offset"));
        for (at, name) in [(self.script, "a script id"), (self.line, "a line"), (self.column, "a column")] {
            check!(below(rows, self.width, at, U32, name));
        }
        for (row, numbers) in rows.chunks_exact(self.width).enumerate() {
            if numbers[self.object] % self.node_width != 0 {
                let expected = format!("a node offset that is a multiple of {}", self.node_width);
                return Ok(Err(BadNumber { index: row * self.width + self.object, expected }));
            }
            each(Location {
                node: (numbers[self.object] / self.node_width) as u32,
                order: 0,
                script: numbers[self.script] as u32,
                line: numbers[self.line] as u32,
                column: numbers[self.column] as u32,
            })?;
        }
        Ok(Ok(()))
    }
}
