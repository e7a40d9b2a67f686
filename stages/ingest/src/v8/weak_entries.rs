//! Entries of weak maps, from the pairs of edges that lead to their values. Used by [`super::containers`].
//!
//! Resident memory: 16 bytes per pair, paged if they do not fit.

use super::ephemerons;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::filled;
use heaplake_kit::{Array, ArrayPlan, ColumnReader, ColumnWriter, ReadAt, Scratch, StageError, StringTable, WriteAt};
use heaplake_schemas::containers::WeakEntryRow;
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;

/// The edges of a pair so far.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct Pair {
    /// Source of the last edge from a table, and of the last one from a key.
    table: u32,
    key: u32,
    /// Target of the last edge.
    value: u32,
    /// Number of edges from tables and from keys, at most [`MANY`].
    tables: u8,
    keys: u8,
    /// Whether their targets differ.
    differ: u16,
}

/// More edges than an entry has.
const MANY: u8 = 2;

impl Pair {
    fn add(&mut self, is_table: bool, from: u32, to: u32) {
        self.differ |= u16::from(self.tables + self.keys > 0 && self.value != to);
        self.value = to;
        let (node, count) =
            if is_table { (&mut self.table, &mut self.tables) } else { (&mut self.key, &mut self.keys) };
        *node = from;
        *count = (*count + 1).min(MANY);
    }

    fn entry(self) -> Option<WeakEntryRow> {
        let Self { table, key, value, tables, keys, differ } = self;
        (tables == 1 && keys == 1 && differ == 0).then_some(WeakEntryRow { table, key, value })
    }
}

/// Pairs the edges to values of weak maps, two per entry, in the order of the file.
pub struct WeakEntries {
    positions: ColumnReader<u64>,
    numbers: ColumnReader<u32>,
    /// Position of the next paired edge; the largest number if there is none.
    pub next: u64,
    /// By number.
    pairs: Array<Pair>,
    ids: Ids,
}

impl WeakEntries {
    /// Starts before the first edge.
    pub fn open(plan: &mut ArrayPlan<'_>, scratch: &Scratch) -> Result<Self, StageError> {
        let mut numbers = ColumnReader::open(scratch, columns::PAIRED_PAIR)?;
        let mut count = 0;
        while numbers.remaining() > 0 {
            count = numbers.next_slice(usize::MAX)?.iter().fold(count, |count, &number| count.max(number as usize + 1));
        }
        let mut entries = Self {
            positions: ColumnReader::open(scratch, columns::PAIRED_EDGE)?,
            numbers: ColumnReader::open(scratch, columns::PAIRED_PAIR)?,
            next: u64::MAX,
            pairs: plan.one(filled(count, Pair::default()))?,
            ids: Ids { column: ColumnReader::open(scratch, columns::NODE_ID)?, read: 0, last: 0 },
        };
        entries.advance()?;
        Ok(entries)
    }

    fn advance(&mut self) -> Result<(), StageError> {
        self.next = if self.positions.remaining() > 0 { self.positions.next()? } else { u64::MAX };
        Ok(())
    }

    /// Adds the edge at that position.
    pub fn meet(&mut self, from: u32, to: NodeId, name: u32, strings: &StringTable) -> Result<(), StageError> {
        let table = ephemerons::parse(strings.get(name as usize)).map(|ephemeron| ephemeron.table);
        let is_table = table == Some(self.ids.get(from)?);
        self.pairs.change(self.numbers.next()? as usize, |pair| pair.add(is_table, from, to.0))?;
        self.advance()
    }

    /// Writes the entries with both edges, by number of the pair.
    pub fn write(mut self, scratch: &Scratch) -> Result<(), StageError> {
        let mut column = ColumnWriter::create(scratch, columns::WEAK_ENTRY_ROW)?;
        for number in 0..self.pairs.count() {
            if let Some(row) = self.pairs.get(number)?.entry() {
                column.push(row)?;
            }
        }
        column.finish().map(drop)
    }
}

/// Ids of nodes, requested in ascending order.
struct Ids {
    column: ColumnReader<u64>,
    read: u32,
    last: u64,
}

impl Ids {
    fn get(&mut self, node: u32) -> Result<u64, StageError> {
        if node >= self.read {
            self.column.skip(u64::from(node - self.read))?;
            self.last = self.column.next()?;
            self.read = node + 1;
        }
        Ok(self.last)
    }
}
