//! Rows of runs that were read before, in a file: only the rows of new runs are read from their tables.
//!
//! One row per fingerprint and run, sorted by both: the fingerprint, the number of the run, the measures. Sorted, a
//! fingerprint costs next to nothing, where each run's table has it in full.

use super::read::HEAD;
use super::spill::Spill;
use arrow::array::{ArrayRef, Int64Array, UInt32Array, UInt64Array};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use heaplake_kit::stage::Output;
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::{Reader, value};
use heaplake_lake::table::Table;
use heaplake_schemas::diff::DiffTable;
use heaplake_schemas::run;
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::Arc;

/// Rows of a row group.
const BATCH: usize = 1 << 17;

/// A file of rows of runs that were read before.
pub struct Kept<'a> {
    /// The file.
    pub path: &'a Path,
    /// Numbers that its runs have now. Runs that are gone have none.
    pub runs: &'a FxHashMap<u32, u32>,
}

impl Kept<'_> {
    /// Whether the file has the rows of a run, given by its number now.
    #[must_use]
    pub fn has(&self, run: u32) -> bool {
        self.runs.values().any(|&now| now == run)
    }

    /// Appends the rows of runs that are still there.
    ///
    /// # Errors
    /// As [`Reader`], and those of the spill.
    pub(super) fn append_to(&self, spill: &Spill, table: &DiffTable, context: &Context<'_>) -> Result<(), StageError> {
        let columns: Vec<&str> = ["fingerprint", "run"].into_iter().chain(table.measures.iter().copied()).collect();
        let mut batches = Reader::open(self.path)?.columns(&columns)?;
        let mut records = Vec::new();
        while let Some(batch) = batches.batch()? {
            context.check()?;
            let (prints, runs) = (batch.u64s("fingerprint")?, batch.u32s("run")?);
            let measures: Vec<_> =
                table.measures.iter().map(|measure| batch.sizes(measure)).collect::<Result<_, _>>()?;
            records.clear();
            for row in 0..batch.len() {
                let Some(run) = self.runs.get(&runs.value(row)) else { continue };
                let print = prints.value(row);
                let nulls = records.len() + HEAD - 1;
                records.extend([print, u64::from(*run) << 32, print, 0, 0]);
                for (at, measure) in measures.iter().enumerate() {
                    let number = value(measure, row);
                    records[nulls] |= u64::from(number.is_none()) << at;
                    records.push(number.unwrap_or(0));
                }
            }
            spill.append(&records)?;
        }
        Ok(())
    }
}

/// Writes such a file.
pub struct Writer {
    table: Table,
    prints: Vec<u64>,
    runs: Vec<u32>,
    measures: Vec<Vec<Option<i64>>>,
}

impl Writer {
    /// A file for rows of a table.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(output: &Output, file: &'static str, table: &DiffTable) -> Result<Self, StageError> {
        let own = [("fingerprint", DataType::UInt64), ("run", DataType::UInt32)];
        let own = own.into_iter().map(|(name, of)| Field::new(name, of, false));
        let measures = table.measures.iter().map(|name| Field::new(*name, DataType::Int64, true));
        let schema = Arc::new(Schema::new(own.chain(measures).collect::<Fields>()));
        let measures = vec![Vec::new(); table.measures.len()];
        Ok(Self { table: Table::create(output, file, schema)?, prints: Vec::new(), runs: Vec::new(), measures })
    }

    /// Appends a row; rows come by fingerprint and run.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn row(&mut self, print: u64, run: u32, measures: &[Option<i64>]) -> Result<(), StageError> {
        self.prints.push(print);
        self.runs.push(run);
        self.measures.iter_mut().zip(measures).for_each(|(column, value)| column.push(*value));
        if self.prints.len() < BATCH { Ok(()) } else { self.flush() }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(mut self) -> Result<run::Table, StageError> {
        self.flush()?;
        self.table.finish()
    }

    fn flush(&mut self) -> Result<(), StageError> {
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(std::mem::take(&mut self.prints))),
            Arc::new(UInt32Array::from(std::mem::take(&mut self.runs))),
        ];
        for column in &mut self.measures {
            columns.push(Arc::new(Int64Array::from(std::mem::take(column))));
        }
        self.table.write(&columns)
    }
}
