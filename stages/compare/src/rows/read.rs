//! Reads the rows of one run's table as records.

use super::signatures::{self, FINGERPRINT, OfRun, Source};
use arrow::array::{Array, PrimitiveArray};
use arrow::datatypes::UInt64Type;
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::{Batch, Reader, value};
use heaplake_names::fingerprint;
use heaplake_schemas::diff::DiffTable;
use rustc_hash::FxHashSet;
use std::path::Path;

/// Words of a record before its values: key, place, fingerprint, fingerprint of its class, measures that are null.
pub const HEAD: usize = 5;

/// How the rows of a table become records.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// The table.
    pub table: &'a DiffTable,
    /// Where signatures come from.
    pub source: Source<'a>,
    /// Hashes of class keys that are on both sides: such rows are compared by these. Empty for tables without class
    /// keys and for sides of several runs.
    pub keys: &'a FxHashSet<u64>,
}

/// The rows of a run.
pub struct Rows {
    /// Records sorted by key, one for each key.
    pub records: Vec<u64>,
    /// A bit for each measure that the run tells.
    pub tells: u64,
}

/// The record's run and row.
#[must_use]
pub fn place(record: &[u64]) -> (u32, u32) {
    ((record[1] >> 32) as u32, record[1] as u32)
}

impl Reading<'_> {
    /// Words of a record.
    #[must_use]
    pub fn width(&self) -> usize {
        HEAD + self.table.measures.len()
    }

    /// Reads the table of the run with this number.
    ///
    /// # Errors
    /// As [`Reader`], and [`StageError::Budget`].
    pub fn rows(&self, folder: &Path, run: u32, context: &Context<'_>) -> Result<Rows, StageError> {
        let of_run = OfRun::read(folder, self.table, self.source)?;
        let reader = Reader::open(&folder.join(self.table.compared.file))?;
        let bytes = reader.rows() * (self.width() as u64 * 16 + 8);
        let _room = context.budget.reserve("comparison: rows of a run", bytes)?;
        let measures: Vec<Option<&str>> =
            self.table.measures.iter().map(|&measure| reader.has(measure).then_some(measure)).collect();
        let mut columns: Vec<&str> = measures.iter().flatten().copied().collect();
        columns.extend(self.columns().into_iter().filter(|column| reader.has(column)));
        let mut tells = match reader.rows() {
            0 => measures.iter().enumerate().fold(0, |bits, (at, measure)| bits | u64::from(measure.is_some()) << at),
            _ => 0,
        };
        let mut records = Vec::new();
        let mut batches = reader.columns(&columns)?;
        while let Some(batch) = batches.batch()? {
            context.check()?;
            let values = measures.iter().map(|measure| measure.map(|name| batch.sizes(name)).transpose());
            let values = values.collect::<Result<Vec<_>, _>>()?;
            for (at, column) in values.iter().enumerate() {
                tells |= u64::from(column.as_ref().is_some_and(|column| column.null_count() < column.len())) << at;
            }
            for row in 0..batch.len() {
                self.record(&mut records, (&batch, row), (run, &of_run), &values)?;
            }
        }
        Ok(Rows { records: merged(&records, self.width()), tells })
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

    fn record(
        &self,
        records: &mut Vec<u64>,
        (batch, row): (&Batch, usize),
        (run, of_run): (u32, &OfRun),
        values: &[Option<PrimitiveArray<UInt64Type>>],
    ) -> Result<(), StageError> {
        let print = match self.source {
            Source::Stored => batch.u64s(FINGERPRINT)?.value(row),
            Source::Made(_) => fingerprint(&signatures::of(self.table, (batch, row), self.source, of_run)?),
        };
        let key = match self.keys.is_empty() {
            true => print,
            false => {
                let own = fingerprint(batch.texts("class_key")?.value(row));
                if self.keys.contains(&own) { own } else { print }
            }
        };
        let class = match self.table.compared.name {
            "chains" => of_run.fingerprint(batch.u32s("class_id")?.value(row)),
            _ => 0,
        };
        let values: Vec<Option<u64>> =
            values.iter().map(|column| column.as_ref().and_then(|column| value(column, row))).collect();
        let nulls = values.iter().enumerate().fold(0, |bits, (at, value)| bits | u64::from(value.is_none()) << at);
        let place = u64::from(run) << 32 | (batch.first_row() + row as u64);
        records.extend([key, place, print, class, nulls]);
        records.extend(values.iter().map(|value| value.unwrap_or(0)));
        Ok(())
    }
}

/// Hashes of the class keys of a run's classes.
///
/// # Errors
/// As [`Reader`].
pub fn class_keys(folder: &Path, file: &str, context: &Context<'_>) -> Result<FxHashSet<u64>, StageError> {
    let mut keys = FxHashSet::default();
    let mut batches = Reader::open(&folder.join(file))?.columns(&["class_key"])?;
    while let Some(batch) = batches.batch()? {
        context.check()?;
        keys.extend(batch.texts("class_key")?.iter().flatten().map(fingerprint));
    }
    Ok(keys)
}

/// Records sorted by key, those of one key added up: the sum of each measure, null only if all are; the first place.
fn merged(records: &[u64], width: usize) -> Vec<u64> {
    let mut order: Vec<&[u64]> = records.chunks_exact(width).collect();
    order.sort_unstable_by_key(|record| (record[0], record[1]));
    let mut merged: Vec<u64> = Vec::with_capacity(records.len());
    for record in order {
        match merged.len().checked_sub(width).filter(|&last| merged[last] == record[0]) {
            None => merged.extend_from_slice(record),
            Some(last) => {
                merged[last + HEAD - 1] &= record[HEAD - 1];
                let sums = merged[last + HEAD..].iter_mut().zip(&record[HEAD..]);
                sums.for_each(|(sum, value)| *sum = sum.saturating_add(*value));
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_key_are_added_up() {
        let rows = [[7, 2, 70, 0, 0b10, 5, 0], [3, 1, 30, 0, 0, 1, 1], [7, 0, 70, 0, 0b11, 0, 0]].concat();
        assert_eq!(merged(&rows, 7), [[3, 1, 30, 0, 0, 1, 1], [7, 0, 70, 0, 0b10, 5, 0]].concat());
    }
}
