//! Rows of runs that an earlier rollup has read, in one file: only new runs are read from their tables.
//!
//! One row per fingerprint and run, sorted by both: fingerprint, run number, measures. Sorting makes fingerprints
//! compress to almost nothing, unlike in each run's own table; and the file is merged sequentially with the partitions
//! of new rows, so its rows take no scratch.

use super::record::{HEAD, Head, Record, push};
use arrow::array::{ArrayRef, Int64Array, UInt32Array, UInt64Array};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use heaplake_kit::StageError;
use heaplake_kit::stage::Output;
use heaplake_lake::reader::{Batches, Reader, damaged, value};
use heaplake_lake::table::Table;
use heaplake_schemas::diff::DiffTable;
use heaplake_schemas::rollup::RollupTable;
use heaplake_schemas::run;
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::Arc;

/// Rows per row group.
const BATCH: usize = 1 << 17;

/// A file of rows of known runs.
pub(crate) struct Kept<'a> {
    /// Path of the file.
    pub path: &'a Path,
    /// Maps the file's run numbers to current ones; removed runs are absent.
    pub runs: &'a FxHashMap<u32, u32>,
}

impl Kept<'_> {
    /// Whether the file has the rows of a run, by current number.
    pub(crate) fn has(&self, run: u32) -> bool {
        self.runs.values().any(|&now| now == run)
    }

    /// Starts reading the rows of runs that still exist.
    pub(super) fn records(&self, table: &DiffTable) -> Result<Records<'_>, StageError> {
        let measures = table.measures.to_vec();
        let columns: Vec<&str> = ["fingerprint", "run"].into_iter().chain(measures.iter().copied()).collect();
        let batches = Reader::open(self.path)?.columns(&columns)?;
        Ok(Records { kept: self, measures, batches, ahead: Vec::new(), at: 0, last: 0 })
    }
}

/// Reads rows as records of a [`Spill`](super::spill::Spill), by fingerprint.
pub(super) struct Records<'a> {
    kept: &'a Kept<'a>,
    measures: Vec<&'static str>,
    batches: Batches,
    /// Records of the last batch.
    ahead: Vec<u64>,
    /// Words of `ahead` already taken.
    at: usize,
    /// Last fingerprint read.
    last: u64,
}

impl Records<'_> {
    /// Calls `take` with the next records, batch by batch, while their fingerprint is below `end`.
    pub(super) fn below(
        &mut self,
        end: Option<u64>,
        mut take: impl FnMut(&[u64]) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let width = HEAD + self.measures.len();
        loop {
            let rest = &self.ahead[self.at..];
            let beyond = |record: Record<'_>| end.is_some_and(|end| record.head.key >= end);
            let count = Record::all(rest, width).position(beyond).unwrap_or(rest.len() / width);
            take(&rest[..count * width])?;
            self.at += count * width;
            if self.at < self.ahead.len() || !self.read()? {
                return Ok(());
            }
        }
    }

    /// Reads the next batch; false at the end.
    fn read(&mut self) -> Result<bool, StageError> {
        self.ahead.clear();
        self.at = 0;
        let Some(batch) = self.batches.batch()? else { return Ok(false) };
        let (prints, runs) = (batch.u64s("fingerprint")?, batch.u32s("run")?);
        let measures: Vec<_> = self.measures.iter().map(|measure| batch.sizes(measure)).collect::<Result<_, _>>()?;
        for row in 0..batch.len() {
            let print = prints.value(row);
            if print < self.last {
                return Err(damaged(self.kept.path, "its rows are not sorted by fingerprint"));
            }
            self.last = print;
            let Some(&run) = self.kept.runs.get(&runs.value(row)) else { continue };
            let head = Head { key: print, run, row: 0, fingerprint: print, class: 0, nulls: 0 };
            push(&mut self.ahead, head, measures.iter().map(|measure| value(measure, row)));
        }
        Ok(true)
    }
}

/// Writes a file of rows.
pub(crate) struct Writer {
    table: Table,
    prints: Vec<u64>,
    runs: Vec<u32>,
    measures: Vec<Vec<Option<i64>>>,
}

impl Writer {
    /// Creates the file of rows beside a table.
    pub(crate) fn create(output: &Output, of: &RollupTable) -> Result<Self, StageError> {
        let own = [("fingerprint", DataType::UInt64), ("run", DataType::UInt32)];
        let own = own.into_iter().map(|(name, of)| Field::new(name, of, false));
        let measures = of.rows.measures.iter().map(|name| Field::new(*name, DataType::Int64, true));
        let schema = Arc::new(Schema::new(own.chain(measures).collect::<Fields>()));
        let measures = vec![Vec::new(); of.rows.measures.len()];
        Ok(Self { table: Table::create(output, of.kept, schema)?, prints: Vec::new(), runs: Vec::new(), measures })
    }

    /// Appends a row; rows must ascend by fingerprint and run.
    pub(crate) fn row(&mut self, print: u64, run: u32, measures: &[Option<i64>]) -> Result<(), StageError> {
        self.prints.push(print);
        self.runs.push(run);
        self.measures.iter_mut().zip(measures).for_each(|(column, value)| column.push(*value));
        if self.prints.len() < BATCH { Ok(()) } else { self.flush() }
    }

    /// Finishes the file.
    pub(crate) fn finish(mut self) -> Result<run::Table, StageError> {
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
