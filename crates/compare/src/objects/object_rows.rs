//! Sorts and writes the table of objects.

use super::class_list::ClassList;
use super::join::{Joined, Node};
use super::slices::{amounts, flags, numbers, optional_amounts, ordinals, texts};
use arrow::datatypes::UInt64Type;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::sorter::{Sorted, Sorter};
use heaplake_kit::stage::Output;
use heaplake_kit::{Budget, Context, Scratch, StageError};
use heaplake_lake::table::{Table, WRITER_BYTES};
use heaplake_schemas::diff_objects::{Status, TABLE};
use heaplake_schemas::run;
use heaplake_schemas::scratch::Column;
use std::cmp::Ordering;

/// Rows per write; the bytes of the table depend on it.
pub(super) const BATCH: usize = 1 << 17;

const COLUMNS: [Column<Row>; 2] = [Column::new("objects.rows"), Column::new("objects.rows_merged")];

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Row {
    status: u32,
    class: u32,
    retained: u64,
    id: u64,
    base_node: u32,
    target_node: u32,
    kind: u32,
    in_both: u32,
    shallow: u64,
    base_shallow: u64,
    base_retained: u64,
}

impl Row {
    fn new(status: Status, found: &Joined) -> Option<Self> {
        let node = found.target.or(found.base)?;
        let base = found.base.unwrap_or_default();
        let ordinal = |node: Option<Node>| node.map_or(u32::MAX, |node| node.node);
        Some(Self {
            status: status as u32,
            class: node.class,
            retained: node.retained,
            id: node.id,
            base_node: ordinal(found.base),
            target_node: ordinal(found.target),
            kind: node.kind,
            in_both: u32::from(found.in_both),
            shallow: node.shallow,
            base_shallow: base.shallow,
            base_retained: base.retained,
        })
    }

    fn in_base(&self, bytes: u64) -> Option<u64> {
        (self.base_node != u32::MAX).then_some(bytes)
    }
}

impl Ord for Row {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |row: &Self| (row.status, !row.retained, row.id, row.target_node, row.base_node);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Collects rows in any order.
pub(super) struct ObjectRows<'a>(Sorter<'a, Row>);

impl<'a> ObjectRows<'a> {
    /// Creates a collector for at most `most` rows.
    pub(super) fn new(most: u64, budget: &'a Budget, scratch: &'a Scratch) -> Result<Self, StageError> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Sorter::new("objects that differ", most, COLUMNS, budget, scratch).map(Self)
    }

    /// Adds an object.
    pub(super) fn push(&mut self, status: Status, found: &Joined) -> Result<(), StageError> {
        Row::new(status, found).map_or(Ok(()), |row| self.0.push(row))
    }

    /// Writes the table.
    pub(super) fn write(
        self,
        classes: &ClassList,
        kinds: &[String],
        output: &Output,
        context: &Context<'_>,
    ) -> Result<run::Table, StageError> {
        let mut sorted = self.0.finish()?;
        let _writer = context.budget.reserve("diff_objects: Parquet writer", WRITER_BYTES)?;
        let mut table = Table::create(output, TABLE.file, TABLE.schema())?;
        let mut rows = context.budget.filled("rows of diff_objects", BATCH, Row::zeroed())?;
        let statuses = Status::ALL.map(|status| status.name().to_owned());
        loop {
            let count = take(&mut sorted, &mut rows)?;
            if count == 0 {
                return table.finish();
            }
            let rows = &rows[..count];
            let sources = vec![
                texts(rows, &statuses, |row: &Row| row.status),
                numbers::<UInt64Type, _>(rows, |row| row.id),
                ordinals(rows, |row| row.base_node),
                ordinals(rows, |row| row.target_node),
                texts(rows, &classes.names, |row| row.class),
                texts(rows, &classes.keys, |row| row.class),
                numbers::<UInt64Type, _>(rows, |row| classes.fingerprints[row.class as usize]),
                texts(rows, kinds, |row| row.kind),
                amounts(rows, |row| row.shallow),
                amounts(rows, |row| row.retained),
                optional_amounts(rows, |row| row.in_base(row.base_shallow)),
                optional_amounts(rows, |row| row.in_base(row.base_retained)),
                flags(rows, |row| row.in_both != 0),
            ];
            table.fill(sources, count as u64, context)?;
        }
    }
}

/// Fills a slice with the next rows; returns their number.
pub(super) fn take<T: Pod + Ord>(sorted: &mut Sorted<'_, T>, rows: &mut [T]) -> Result<usize, StageError> {
    for (count, row) in rows.iter_mut().enumerate() {
        match sorted.pop()? {
            Some(next) => *row = next,
            None => return Ok(count),
        }
    }
    Ok(rows.len())
}
