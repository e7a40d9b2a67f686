//! Rows of numbers, as the file has them, into columns.

use super::header::{EdgeFields, Header, NodeFields, position};
use crate::chunks::BadNumber;
use bytemuck::Pod;
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
    /// Sees the largest index of some rows of a section, if they have any: the first such row, counted from `first_row`.
    fn see(&mut self, largest: Option<(u64, usize)>, section: &'static str, first_row: u64) {
        if let Some((index, row)) = largest
            && (index > self.index || self.section.is_empty())
        {
            *self = Self { index, section, row: first_row + row as u64 };
        }
    }
}

const U32: u64 = 1 << 32;

/// A field, if the file has it, and the number that its values stay below.
struct Limit {
    at: Option<usize>,
    below: u64,
    name: &'static str,
}

/// Appends a field of all rows to a column. Gives its largest value.
#[inline]
fn field<T>(rows: &[u64], width: usize, at: usize, column: &mut Vec<T>, mut convert: impl FnMut(u64) -> T) -> u64 {
    let mut largest = 0;
    column.extend(rows.chunks_exact(width).map(|row| {
        largest = largest.max(row[at]);
        convert(row[at])
    }));
    largest
}

/// As [`field`], for a field that not every file has.
fn field_if<T>(rows: &[u64], width: usize, at: Option<usize>, column: &mut Vec<T>, convert: impl Fn(u64) -> T) -> u64 {
    at.map_or(0, |at| field(rows, width, at, column, convert))
}

/// Whether fields with these largest values keep to their limits.
fn fit(limits: &[Limit], largest: &[u64]) -> bool {
    limits.iter().zip(largest).all(|(limit, &largest)| limit.at.is_none() || largest < limit.below)
}

/// The first number, in the order of the text, that breaks one of the limits.
fn beyond(rows: &[u64], width: usize, limits: &[Limit]) -> Option<BadNumber> {
    let first = |limit: &Limit| {
        let at = limit.at?;
        let row = rows.chunks_exact(width).position(|row| row[at] >= limit.below)?;
        Some(BadNumber { index: row * width + at, expected: format!("{} below {}", limit.name, limit.below) })
    };
    limits.iter().filter_map(first).min_by_key(|bad| bad.index)
}

/// The first of two refusals, if there is one.
fn first_of(first: Option<BadNumber>, second: Option<BadNumber>) -> Result<(), BadNumber> {
    match first.into_iter().chain(second).min_by_key(|bad| bad.index) {
        Some(bad) => Err(bad),
        None => Ok(()),
    }
}

/// Notes a larger name than was seen so far, and the first of the new rows, `before` being there already, that has it.
fn note_largest(largest: &mut Option<(u64, usize)>, index: u64, before: usize, names: impl Iterator<Item = u64>) {
    if largest.is_none_or(|(known, _)| index > known) {
        let row = names.into_iter().position(|name| name == index);
        *largest = row.map(|row| (index, before + row)).or(*largest);
    }
}

/// Writes a part of a column that was made elsewhere, and empties it for the next one.
fn write<T: Pod>(column: &mut ColumnWriter<T>, part: &mut Vec<T>) -> Result<(), StageError> {
    column.extend(part)?;
    part.clear();
    Ok(())
}

/// As [`write()`], for a column that not every file has.
fn write_if<T: Pod>(column: &mut Option<ColumnWriter<T>>, part: &mut Vec<T>) -> Result<(), StageError> {
    column.as_mut().map_or(Ok(()), |column| write(column, part))
}

/// Divides offsets of nodes by the numbers in a node row. A multiplication does, where a division would take as long as
/// all else that is done for an edge.
#[derive(Clone, Copy)]
struct NodeWidth {
    width: u64,
    /// 2^64 / width, rounded up.
    inverse: u64,
}

impl NodeWidth {
    fn new(width: usize) -> Self {
        // Rows have five fields at least, so nothing overflows.
        let width = width.max(2) as u64;
        Self { width, inverse: u64::MAX / width + 1 }
    }

    /// Quotient and remainder of an offset that is not beyond 2^32 nodes. (Others are refused for that anyway.)
    ///
    /// The quotient is exact below 2^64 / width: the inverse is too large by less than one part in 2^64 / width, which
    /// moves a product below that across no whole number. For rows of less than 2^16 fields that is beyond 2^32 nodes.
    #[inline]
    fn divide(self, offset: u64) -> (u64, u64) {
        if self.width >= 1 << 16 {
            return (offset / self.width, offset % self.width);
        }
        let quotient = ((u128::from(offset) * u128::from(self.inverse)) >> 64) as u64;
        (quotient, offset.wrapping_sub(quotient.wrapping_mul(self.width)))
    }

    /// The first number of a field that is no offset of a node.
    fn misaligned(self, rows: &[u64], width: usize, at: usize) -> Option<BadNumber> {
        let row = rows.chunks_exact(width).position(|row| row[at] % self.width != 0)?;
        let expected = format!("a node offset that is a multiple of {}", self.width);
        Some(BadNumber { index: row * width + at, expected })
    }
}

/// Checks node rows and makes columns of them.
pub struct NodeRows {
    fields: NodeFields,
    /// Of kind, name, edge count, trace node and detachedness.
    limits: [Limit; 5],
}

/// Some rows of the node columns.
#[derive(Default)]
pub struct NodeColumns {
    kind: Vec<u8>,
    name: Vec<StringId>,
    id: Vec<u64>,
    self_size: Vec<u64>,
    edge_count: Vec<u32>,
    trace_node: Vec<u32>,
    detachedness: Vec<u8>,
    native_size: Vec<u64>,
    /// The largest name, and its first row.
    largest: Option<(u64, usize)>,
}

impl NodeRows {
    /// For nodes as the header describes them.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        let fields = header.node.clone();
        let limit = |at, below, name| Limit { at, below, name };
        let limits = [
            limit(Some(fields.kind), header.node_types.len() as u64, "a node type"),
            limit(Some(fields.name), U32 - 1, "a string index"),
            limit(Some(fields.edge_count), U32, "an edge count"),
            limit(fields.trace_node, U32, "a trace node id"),
            limit(fields.detachedness, 4, "a detachedness"),
        ];
        Self { fields, limits }
    }

    /// Appends whole rows to `columns`.
    ///
    /// # Errors
    /// The first number that cannot be.
    pub fn read(&self, rows: &[u64], columns: &mut NodeColumns) -> Result<(), BadNumber> {
        let NodeFields { width, .. } = self.fields;
        let before = columns.name.len();
        let largest = [
            field(rows, width, self.fields.kind, &mut columns.kind, |value| value as u8),
            field(rows, width, self.fields.name, &mut columns.name, |value| StringId(value as u32)),
            field(rows, width, self.fields.edge_count, &mut columns.edge_count, |value| value as u32),
            field_if(rows, width, self.fields.trace_node, &mut columns.trace_node, |value| value as u32),
            field_if(rows, width, self.fields.detachedness, &mut columns.detachedness, |value| value as u8),
        ];
        field(rows, width, self.fields.id, &mut columns.id, |value| value);
        field(rows, width, self.fields.self_size, &mut columns.self_size, |value| value);
        field_if(rows, width, self.fields.native_size, &mut columns.native_size, |value| value);
        if !fit(&self.limits, &largest) {
            return first_of(beyond(rows, width, &self.limits), None);
        }
        let names = columns.name[before..].iter().map(|name| u64::from(name.0));
        note_largest(&mut columns.largest, largest[1], before, names);
        Ok(())
    }
}

/// Writes the node columns.
pub struct NodeWriter {
    rows: u64,
    edges: u64,
    kind: ColumnWriter<u8>,
    name: ColumnWriter<StringId>,
    id: ColumnWriter<u64>,
    self_size: ColumnWriter<u64>,
    edge_count: ColumnWriter<u32>,
    trace_node: Option<ColumnWriter<u32>>,
    detachedness: Option<ColumnWriter<u8>>,
    native_size: Option<ColumnWriter<u64>>,
}

impl NodeWriter {
    /// Starts the columns.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(header: &Header, scratch: &Scratch) -> Result<Self, StageError> {
        let fields = &header.node;
        Ok(Self {
            rows: 0,
            edges: 0,
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
        })
    }

    /// Writes the next rows and leaves `part` empty.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn write(&mut self, part: &mut NodeColumns, names: &mut LargestName) -> Result<(), StageError> {
        names.see(part.largest.take(), "nodes", self.rows);
        self.rows += part.kind.len() as u64;
        self.edges += part.edge_count.iter().map(|&count| u64::from(count)).sum::<u64>();
        write(&mut self.kind, &mut part.kind)?;
        write(&mut self.name, &mut part.name)?;
        write(&mut self.id, &mut part.id)?;
        write(&mut self.self_size, &mut part.self_size)?;
        write(&mut self.edge_count, &mut part.edge_count)?;
        write_if(&mut self.trace_node, &mut part.trace_node)?;
        write_if(&mut self.detachedness, &mut part.detachedness)?;
        write_if(&mut self.native_size, &mut part.native_size)
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

/// Checks edge rows and makes columns of them.
pub struct EdgeRows {
    fields: EdgeFields,
    /// Of kind, name and target.
    limits: [Limit; 3],
    /// All bits for the types whose edges have names, none for those that have indexes.
    named: [u32; 256],
    node_width: NodeWidth,
}

/// Some rows of the edge columns.
#[derive(Default)]
pub struct EdgeColumns {
    kind: Vec<u8>,
    name: Vec<u32>,
    to: Vec<NodeId>,
    /// The largest name, and its first row.
    largest: Option<(u64, usize)>,
}

impl EdgeRows {
    /// For edges as the header describes them.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        let fields = header.edge.clone();
        let limit = |at, below, name| Limit { at: Some(at), below, name };
        let limits = [
            limit(fields.kind, header.edge_types.len() as u64, "an edge type"),
            limit(fields.name, U32, "a string index or element index"),
            limit(fields.to, header.node_count * header.node.width as u64, "a node offset"),
        ];
        let mut named = [0; 256];
        for (mask, name) in named.iter_mut().zip(&header.edge_types) {
            *mask = if is_indexed(name) { 0 } else { u32::MAX };
        }
        Self { fields, limits, named, node_width: NodeWidth::new(header.node.width) }
    }

    /// Appends whole rows to `columns`.
    ///
    /// # Errors
    /// The first number that cannot be.
    pub fn read(&self, rows: &[u64], columns: &mut EdgeColumns) -> Result<(), BadNumber> {
        let EdgeFields { width, kind, name, to } = self.fields;
        let before = columns.kind.len();
        let mut remainders = 0;
        let largest = [
            field(rows, width, kind, &mut columns.kind, |value| value as u8),
            field(rows, width, name, &mut columns.name, |value| value as u32),
            field(rows, width, to, &mut columns.to, |offset| {
                let (node, remainder) = self.node_width.divide(offset);
                remainders |= remainder;
                NodeId(node as u32)
            }),
        ];
        if remainders != 0 || !fit(&self.limits, &largest) {
            return first_of(beyond(rows, width, &self.limits), self.node_width.misaligned(rows, width, to));
        }
        let rows = columns.kind[before..].iter().zip(&columns.name[before..]);
        let names = rows.map(|(&kind, &name)| u64::from(name & self.named[usize::from(kind)]));
        note_largest(&mut columns.largest, names.clone().max().unwrap_or(0), before, names);
        Ok(())
    }
}

/// Writes the edge columns.
pub struct EdgeWriter {
    rows: u64,
    kind: ColumnWriter<u8>,
    name: ColumnWriter<u32>,
    to: ColumnWriter<NodeId>,
}

impl EdgeWriter {
    /// Starts the columns.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            rows: 0,
            kind: ColumnWriter::create(scratch, columns::EDGE_KIND)?,
            name: ColumnWriter::create(scratch, columns::EDGE_NAME)?,
            to: ColumnWriter::create(scratch, columns::EDGE_TO)?,
        })
    }

    /// Writes the next rows and leaves `part` empty.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn write(&mut self, part: &mut EdgeColumns, names: &mut LargestName) -> Result<(), StageError> {
        names.see(part.largest.take(), "edges", self.rows);
        self.rows += part.kind.len() as u64;
        write(&mut self.kind, &mut part.kind)?;
        write(&mut self.name, &mut part.name)?;
        write(&mut self.to, &mut part.to)
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
    /// Of object, script, line and column.
    limits: [Limit; 4],
    node_width: NodeWidth,
}

impl LocationRows {
    /// Nothing when the header names no such fields.
    #[must_use]
    pub fn new(header: &Header) -> Option<Self> {
        let fields = &header.location_fields;
        let (object, script) = (position(fields, "object_index")?, position(fields, "script_id")?);
        let (line, column) = (position(fields, "line")?, position(fields, "column")?);
        let limit = |at, below, name| Limit { at: Some(at), below, name };
        let limits = [
            limit(object, header.node_count * header.node.width as u64, "a node offset"),
            limit(script, U32, "a script id"),
            limit(line, U32, "a line"),
            limit(column, U32, "a column"),
        ];
        let node_width = NodeWidth::new(header.node.width);
        Some(Self { width: fields.len(), object, script, line, column, limits, node_width })
    }

    /// Hands the locations of a batch of rows to `each`.
    ///
    /// # Errors
    /// What `each` returns.
    pub fn read(&self, rows: &[u64], mut each: impl FnMut(Location) -> Result<(), StageError>) -> Written {
        let misaligned = self.node_width.misaligned(rows, self.width, self.object);
        if let Err(bad) = first_of(beyond(rows, self.width, &self.limits), misaligned) {
            return Ok(Err(bad));
        }
        for numbers in rows.chunks_exact(self.width) {
            each(Location {
                node: self.node_width.divide(numbers[self.object]).0 as u32,
                order: 0,
                script: numbers[self.script] as u32,
                line: numbers[self.line] as u32,
                column: numbers[self.column] as u32,
            })?;
        }
        Ok(Ok(()))
    }
}
