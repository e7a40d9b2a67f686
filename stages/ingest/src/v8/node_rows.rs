//! Rows of `nodes` into columns.

use super::header::{Header, NodeFields};
use super::rows::{LargestName, Limit, U32, beyond, field, field_if, first_of, fit, note_largest, write, write_if};
use super::salvage::BadReferences;
use super::snapshot::DETACHEDNESS;
use heaplake_input::chunks::{BadNumber, Place};
use heaplake_kit::{ColumnWriter, Scratch, StageError, finish_all};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch as columns;
use std::ops::Range;

/// Checks node rows and converts them to columns.
pub struct NodeRows {
    fields: NodeFields,
    /// Limits of kind, name, edge count, trace node and detachedness.
    limits: [Limit; 5],
    /// Type of nodes with an invalid one, if damage is tolerated.
    unknown: Option<u8>,
}

/// Rows of the node columns.
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
    /// Invalid values, which were replaced.
    bad: BadReferences,
}

impl NodeRows {
    /// Creates the reader for the header's fields. With `salvage`, invalid numbers are replaced.
    pub fn new(header: &Header, salvage: bool) -> Self {
        let fields = header.node.clone();
        let limit = |at, below, name| Limit { at, below, name };
        let limits = [
            limit(Some(fields.kind), header.most_node_types() as u64, "a node type"),
            limit(Some(fields.name), U32 - 1, "a string index"),
            limit(Some(fields.edge_count), U32, "an edge count"),
            limit(fields.trace_node, U32, "a trace node id"),
            limit(fields.detachedness, 4, "a detachedness"),
        ];
        let unknown = salvage.then(|| header.most_node_types().min(255) as u8);
        Self { fields, limits, unknown }
    }

    /// Appends whole rows to `columns`; returns the first invalid number.
    pub fn read(&self, rows: &[u64], place: &Place<'_>, columns: &mut NodeColumns) -> Result<(), BadNumber> {
        let NodeFields { width, .. } = self.fields;
        let before = columns.name.len();
        let mut largest = [
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
            let Some(unknown) = self.unknown else { return first_of(beyond(rows, width, &self.limits), None) };
            self.mend(rows, place, unknown, columns);
            largest[1] = columns.name[before..].iter().map(|name| name.0).max().unwrap_or(0).into();
        }
        let names = columns.name[before..].iter().map(|name| u64::from(name.0));
        note_largest(&mut columns.largest, largest[1], before, names);
        Ok(())
    }

    /// Replaces invalid values among the last rows. A name becomes the largest possible one, beyond all strings.
    #[cold]
    fn mend(&self, rows: &[u64], place: &Place<'_>, unknown: u8, columns: &mut NodeColumns) {
        let width = self.fields.width;
        let before = columns.name.len() - rows.len() / width;
        for (row, numbers) in rows.chunks_exact(width).enumerate() {
            let mut bad = [false; 5];
            for (limit, bad) in self.limits.iter().zip(&mut bad) {
                let Some(at) = limit.at.filter(|&at| numbers[at] >= limit.below) else { continue };
                *bad = true;
                columns.bad.note(place, row * width + at, numbers[at], &limit.expected());
            }
            let [kind, name, edge_count, trace_node, detachedness] = bad;
            let row = before + row;
            if kind {
                columns.kind[row] = unknown;
            }
            if name {
                columns.name[row] = StringId((U32 - 2) as u32);
            }
            if edge_count {
                columns.edge_count[row] = 0;
            }
            if trace_node {
                columns.trace_node[row] = 0;
            }
            if detachedness {
                columns.detachedness[row] = 0;
            }
        }
    }
}

/// Writes the node columns.
pub struct NodeWriter {
    /// Rows written.
    pub rows: u64,
    edges: u64,
    /// Types that the header does not name; number of nodes with one, and the largest type.
    beyond: Range<usize>,
    unnamed: u64,
    largest_kind: u8,
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
    /// Creates the columns.
    pub fn create(header: &Header, scratch: &Scratch) -> Result<Self, StageError> {
        let fields = &header.node;
        Ok(Self {
            rows: 0,
            edges: 0,
            beyond: header.node_types.len()..header.most_node_types(),
            unnamed: 0,
            largest_kind: 0,
            kind: ColumnWriter::create(scratch, columns::NODE_KIND)?,
            name: ColumnWriter::create(scratch, columns::NODE_NAME)?,
            id: ColumnWriter::create(scratch, columns::NODE_ID)?,
            self_size: ColumnWriter::create(scratch, columns::NODE_SELF)?,
            edge_count: ColumnWriter::create(scratch, columns::NODE_EDGE_COUNT)?,
            trace_node: fields.trace_node.map(|_| ColumnWriter::create(scratch, columns::NODE_TRACE)).transpose()?,
            detachedness: fields.detachedness.map(|_| ColumnWriter::create(scratch, DETACHEDNESS)).transpose()?,
            native_size: fields.native_size.map(|_| ColumnWriter::create(scratch, columns::NODE_NATIVE)).transpose()?,
        })
    }

    /// Number of nodes with a type that the header does not name, and the number of types including theirs.
    pub fn unnamed(&self) -> Option<(u64, usize)> {
        (self.unnamed > 0).then(|| (self.unnamed, usize::from(self.largest_kind) + 1))
    }

    /// Writes the next rows and empties `part`. Adds its replaced values to `bad`.
    pub fn write(
        &mut self,
        part: &mut NodeColumns,
        names: &mut LargestName,
        bad: &mut BadReferences,
    ) -> Result<(), StageError> {
        bad.append(&mut part.bad);
        names.see(part.largest.take(), "nodes", self.rows);
        self.rows += part.kind.len() as u64;
        if part.kind.iter().max().is_some_and(|&largest| usize::from(largest) >= self.beyond.start) {
            for &kind in part.kind.iter().filter(|&&kind| self.beyond.contains(&kind.into())) {
                self.unnamed += 1;
                self.largest_kind = self.largest_kind.max(kind);
            }
        }
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

    /// Completes the columns; returns the number of edges that the nodes announce.
    pub fn finish(self) -> Result<u64, StageError> {
        finish_all((self.kind, self.name, self.id, self.self_size, self.edge_count))?;
        finish_all((self.trace_node, self.detachedness, self.native_size))?;
        Ok(self.edges)
    }
}
