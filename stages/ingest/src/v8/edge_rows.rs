//! Rows of `edges` into columns.
//!
//! V8 of Node.js 24 and newer writes positions from 2^31 on as negative numbers; they are read as unsigned 32-bit
//! numbers, as older versions write them.

use super::header::{EdgeFields, Header, is_indexed};
use super::rows::{LargestName, Limit, NodeWidth, U32, beyond, field, first_of, fit, flaw, note_largest, write};
use super::salvage::BadReferences;
use heaplake_input::chunks::{BadNumber, Place};
use heaplake_input::numbers::LEAST_NEGATIVE;
use heaplake_kit::{ColumnWriter, Scratch, StageError, create_all, finish_all};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;

/// Checks edge rows and converts them to columns.
pub struct EdgeRows {
    fields: EdgeFields,
    /// Limits of kind, name and target.
    limits: [Limit; 3],
    /// Per edge type: all bits if its edges have names, 0 if they have indexes.
    named: [u32; 256],
    node_width: NodeWidth,
    /// Whether invalid edges are marked instead of refused.
    salvage: bool,
}

/// Rows of the edge columns.
#[derive(Default)]
pub struct EdgeColumns {
    kind: Vec<u8>,
    name: Vec<u32>,
    to: Vec<NodeId>,
    /// The largest name, and its first row.
    largest: Option<(u64, usize)>,
    /// Invalid values; their edges are marked.
    bad: BadReferences,
}

impl EdgeRows {
    /// Creates the reader for the header's fields. With `salvage`, invalid edges get no target.
    pub fn new(header: &Header, salvage: bool) -> Self {
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
        Self { fields, limits, named, node_width: NodeWidth::new(header.node.width), salvage }
    }

    /// Returns the name or position of an edge; negative positions become unsigned.
    fn unsign(&self, row: &[u64]) -> u64 {
        let EdgeFields { kind, name, .. } = self.fields;
        let is_position = row[kind] < self.limits[0].below && self.named[row[kind] as usize & 255] == 0;
        if is_position && row[name] >= LEAST_NEGATIVE { u64::from(row[name] as u32) } else { row[name] }
    }

    /// Returns the largest name or position.
    #[cold]
    fn unsigned(&self, rows: &[u64]) -> u64 {
        rows.chunks_exact(self.fields.width).map(|row| self.unsign(row)).max().unwrap_or(0)
    }

    /// Returns the first number beyond a limit.
    #[cold]
    fn beyond(&self, rows: &[u64]) -> Option<BadNumber> {
        let mut rows = rows.to_vec();
        for row in rows.chunks_exact_mut(self.fields.width) {
            row[self.fields.name] = self.unsign(row);
        }
        beyond(&rows, self.fields.width, &self.limits)
    }

    /// Appends whole rows to `columns`; returns the first invalid number.
    pub fn read(&self, rows: &[u64], place: &Place<'_>, columns: &mut EdgeColumns) -> Result<(), BadNumber> {
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
        let largest = [largest[0], if largest[1] < U32 { largest[1] } else { self.unsigned(rows) }, largest[2]];
        if remainders != 0 || !fit(&self.limits, &largest) {
            if !self.salvage {
                return first_of(self.beyond(rows), self.node_width.misaligned(rows, width, to));
            }
            self.mark(rows, place, columns);
        }
        let rows = columns.kind[before..].iter().zip(&columns.name[before..]);
        let names = rows.map(|(&kind, &name)| u64::from(name & self.named[usize::from(kind)]));
        note_largest(&mut columns.largest, names.clone().max().unwrap_or(0), before, names);
        Ok(())
    }

    /// Removes the targets of invalid edges among the last rows.
    #[cold]
    fn mark(&self, rows: &[u64], place: &Place<'_>, columns: &mut EdgeColumns) {
        let EdgeFields { width, name, to, .. } = self.fields;
        let before = columns.kind.len() - rows.len() / width;
        for (row, numbers) in rows.chunks_exact(width).enumerate() {
            let number = |at| if at == name { self.unsign(numbers) } else { numbers[at] };
            let Some((at, expected)) = flaw(&self.limits, (self.node_width, to), number) else { continue };
            columns.bad.note(place, row * width + at, numbers[at], &expected);
            let row = before + row;
            (columns.kind[row], columns.name[row], columns.to[row]) = (0, 0, NodeId::NONE);
        }
    }
}

/// Writes the edge columns.
pub struct EdgeWriter {
    /// Rows written.
    pub rows: u64,
    kind: ColumnWriter<u8>,
    name: ColumnWriter<u32>,
    to: ColumnWriter<NodeId>,
}

impl EdgeWriter {
    /// Starts the columns.
    pub fn create(scratch: &Scratch) -> Result<Self, StageError> {
        let (kind, name, to) = create_all(scratch, (columns::EDGE_KIND, columns::EDGE_NAME, columns::EDGE_TO))?;
        Ok(Self { rows: 0, kind, name, to })
    }

    /// Writes the next rows and empties `part`. Adds its invalid values to `bad`.
    pub fn write(
        &mut self,
        part: &mut EdgeColumns,
        names: &mut LargestName,
        bad: &mut BadReferences,
    ) -> Result<(), StageError> {
        bad.append(&mut part.bad);
        names.see(part.largest.take(), "edges", self.rows);
        self.rows += part.kind.len() as u64;
        write(&mut self.kind, &mut part.kind)?;
        write(&mut self.name, &mut part.name)?;
        write(&mut self.to, &mut part.to)
    }

    /// Completes the columns.
    pub fn finish(self) -> Result<(), StageError> {
        finish_all((self.kind, self.name, self.to))?;
        Ok(())
    }
}
