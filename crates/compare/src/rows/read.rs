//! Reads the rows of one run's table as records.

use super::record::{HEAD, Head, Record, head_mut, push};
use super::signatures::{self, FINGERPRINT, OfRun, Source};
use arrow::array::{Array, PrimitiveArray};
use arrow::datatypes::UInt64Type;
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::{Batch, Reader, value};
use heaplake_names::fingerprint;
use heaplake_schemas::diff::DiffTable;
use rustc_hash::FxHashSet;
use std::path::Path;

/// Converts rows of a table into records.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a, 'k> {
    /// Table.
    pub table: &'a DiffTable,
    /// Source of signatures.
    pub source: Source<'a>,
    /// Hashes of class keys on both sides, for matching by key. Empty for tables without class keys and for sides of
    /// several runs.
    pub keys: &'k FxHashSet<u64>,
}

/// Buffers that a thread reuses from run to run.
#[derive(Default)]
pub(super) struct Buffers {
    /// Records of a run, sorted by key, one per key.
    pub records: Vec<u64>,
    /// Records as read.
    unsorted: Vec<u64>,
    /// Keys and indices of the unsorted records.
    order: Vec<(u64, u32)>,
}

impl Reading<'_, '_> {
    /// Words of a record.
    pub(super) fn width(&self) -> usize {
        HEAD + self.table.measures.len()
    }

    /// Reads a run's table into the buffers; returns a bit set of the measures that the run reports.
    pub(super) fn rows(
        &self,
        folder: &Path,
        run: u32,
        buffers: &mut Buffers,
        context: &Context<'_>,
    ) -> Result<u64, StageError> {
        let reader = Reader::open(&folder.join(self.table.compared.file))?;
        // An empty table needs no texts of other tables.
        let of_run = match reader.rows() {
            0 => OfRun::default(),
            _ => OfRun::read(folder, self.table, self.source, &context.budget)?,
        };
        let bytes = reader.rows() * (self.width() as u64 * 16 + 16);
        let _grant = context.budget.reserve("comparison: rows of a run", bytes)?;
        let measures: Vec<Option<&str>> =
            self.table.measures.iter().map(|&measure| reader.has(measure).then_some(measure)).collect();
        let mut columns: Vec<&str> = measures.iter().flatten().copied().collect();
        columns.extend(self.columns().into_iter().filter(|column| reader.has(column)));
        let mut reports = match reader.rows() {
            0 => measures.iter().enumerate().fold(0, |bits, (at, measure)| bits | u64::from(measure.is_some()) << at),
            _ => 0,
        };
        buffers.unsorted.clear();
        buffers.unsorted.reserve(reader.rows() as usize * self.width());
        let mut batches = reader.columns(&columns)?;
        while let Some(batch) = batches.batch()? {
            context.check()?;
            let values = measures.iter().map(|measure| measure.map(|name| batch.sizes(name)).transpose());
            let values = values.collect::<Result<Vec<_>, _>>()?;
            for (at, column) in values.iter().enumerate() {
                reports |= u64::from(column.as_ref().is_some_and(|column| column.null_count() < column.len())) << at;
            }
            self.batch(&mut buffers.unsorted, &batch, (run, &of_run), &values)?;
        }
        merge(buffers, self.width());
        Ok(reports)
    }

    fn columns(&self) -> Vec<&'static str> {
        let mut columns = match self.source {
            Source::Stored => vec![FINGERPRINT],
            Source::Made(_) => signatures::columns(self.table, self.source).to_vec(),
        };
        if !self.keys.is_empty() {
            columns.push("class_key");
        }
        if self.table.compared.name == "chains" {
            columns.push("class_id");
        }
        columns
    }

    /// Appends the records of a batch.
    fn batch(
        &self,
        records: &mut Vec<u64>,
        batch: &Batch,
        (run, of_run): (u32, &OfRun),
        values: &[Option<PrimitiveArray<UInt64Type>>],
    ) -> Result<(), StageError> {
        // Look up columns once for all rows.
        let prints = match self.source {
            Source::Stored => Some(batch.u64s(FINGERPRINT)?),
            Source::Made(_) => None,
        };
        let keys = if self.keys.is_empty() { None } else { Some(batch.texts("class_key")?) };
        let classes = if self.table.compared.name == "chains" { Some(batch.u32s("class_id")?) } else { None };
        for row in 0..batch.len() {
            let print = match prints {
                Some(prints) => prints.value(row),
                None => fingerprint(&signatures::of(self.table, (batch, row), self.source, of_run)?),
            };
            let own = keys.map(|keys| fingerprint(keys.value(row))).filter(|own| self.keys.contains(own));
            let head = Head {
                key: own.unwrap_or(print),
                run,
                row: (batch.first_row() + row as u64) as u32,
                fingerprint: print,
                class: classes.map_or(0, |classes| of_run.fingerprint(classes.value(row))),
                nulls: 0,
            };
            push(records, head, values.iter().map(|column| column.as_ref().and_then(|column| value(column, row))));
        }
        Ok(())
    }
}

/// Hashes of the class keys of a run.
pub(super) fn class_keys(folder: &Path, file: &str, context: &Context<'_>) -> Result<FxHashSet<u64>, StageError> {
    let mut keys = FxHashSet::default();
    let mut batches = Reader::open(&folder.join(file))?.columns(&["class_key"])?;
    while let Some(batch) = batches.batch()? {
        context.check()?;
        keys.extend(batch.texts("class_key")?.iter().flatten().map(fingerprint));
    }
    Ok(keys)
}

/// Sorts records by key and merges those with equal keys: sums of measures, null only if all are; the first place.
fn merge(Buffers { records, unsorted, order }: &mut Buffers, width: usize) {
    order.clear();
    order.extend(Record::all(unsorted, width).zip(0..).map(|(record, at)| (record.head.key, at)));
    // Records are in the order of their places.
    order.sort_unstable();
    records.clear();
    records.reserve(unsorted.len());
    for group in order.chunk_by(|(a, _), (b, _)| a == b) {
        let start = records.len();
        for (_, at) in group {
            let words = &unsorted[*at as usize * width..][..width];
            if records.len() == start {
                records.extend_from_slice(words);
                continue;
            }
            let record = Record::of(words);
            head_mut(&mut records[start..]).nulls &= record.head.nulls;
            let sums = records[start + HEAD..].iter_mut().zip(record.measures);
            sums.for_each(|(sum, value)| *sum = sum.saturating_add(*value));
        }
    }
}

/// Hashes of class keys that both runs have.
pub(super) fn common_keys(
    folders: &[&Path],
    table: &DiffTable,
    context: &Context<'_>,
) -> Result<FxHashSet<u64>, StageError> {
    let [base, target] = folders else { return Ok(FxHashSet::default()) };
    let base = class_keys(base, table.compared.file, context)?;
    let target = class_keys(target, table.compared.file, context)?;
    Ok(base.into_iter().filter(|key| target.contains(key)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_key_are_added_up() {
        let unsorted = [[7, 0, 70, 0, 0b11, 0, 0], [3, 1, 30, 0, 0, 1, 1], [7, 2, 70, 0, 0b10, 5, 0]].concat();
        let mut buffers = Buffers { unsorted, ..Buffers::default() };
        merge(&mut buffers, 7);
        assert_eq!(buffers.records, [[3, 1, 30, 0, 0, 1, 1], [7, 0, 70, 0, 0b10, 5, 0]].concat());
    }
}
