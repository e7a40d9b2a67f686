//! Writes one table of a group, and its file of rows.

use super::row::{Row, Summed};
use super::signatures::Signatures;
use crate::rows::Gathered;
use crate::rows::kept::Writer;
use arrow::array::{
    ArrayRef, Int64Array, MapBuilder, MapFieldNames, StringArray, StringBuilder, TimestampMicrosecondArray, UInt64Array,
};
use heaplake_kit::StageError;
use heaplake_kit::stage::Output;
use heaplake_lake::table::Table;
use heaplake_schemas::diff::DiffTable;
use heaplake_schemas::rollup::{Group, RolledRun, RollupTable};
use heaplake_schemas::run;
use std::iter::repeat_n;
use std::sync::Arc;

/// Rows per row group.
const BATCH: usize = 1 << 14;

/// Name of the file of rows.
pub(super) fn kept_file(table: &RollupTable) -> &'static str {
    match table.rows.compared.name {
        "classes" => "rows_classes.parquet",
        "chains" => "rows_chains.parquet",
        "owners" => "rows_owners.parquet",
        "duplicate_sets" => "rows_duplicate_sets.parquet",
        "findings" => "rows_findings.parquet",
        "allocation_types" => "rows_allocation_types.parquet",
        "allocation_functions" => "rows_allocation_functions.parquet",
        _ => "rows_object_lifetimes.parquet",
    }
}

/// A table being written.
pub(super) struct Made<'a> {
    group: &'a Group,
    /// Indices, within the group, of the runs with the table.
    numbers: Vec<u32>,
    /// Number of distinct `host` labels; `None` if there is none.
    hosts: Option<i64>,
    signatures: Signatures,
    rows: Vec<Row>,
    texts: Vec<String>,
    measures: &'static [&'static str],
    table: Table,
    kept: Writer,
}

impl<'a> Made<'a> {
    /// Creates a table of `group` from the runs that have `rows`.
    pub(super) fn create(
        (table, rows): (&RollupTable, &DiffTable),
        (group, numbers): (&'a Group, Vec<u32>),
        gathered: &Gathered<'_>,
        signatures: Signatures,
        output: &Output,
    ) -> Result<Self, StageError> {
        let mut hosts: Vec<u32> = gathered.runs.iter().filter_map(|run| run.host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        Ok(Self {
            group,
            numbers,
            hosts: (!hosts.is_empty()).then_some(hosts.len() as i64),
            signatures,
            rows: Vec::new(),
            texts: Vec::new(),
            measures: rows.measures,
            table: Table::create(output, table.table.file, table.table.schema())?,
            kept: Writer::create(output, kept_file(table), rows)?,
        })
    }

    /// Capture time of each run.
    pub(super) fn captured(&self) -> Vec<Option<i64>> {
        (0..self.numbers.len()).map(|run| self.run(run as u32).captured_at_us).collect()
    }

    /// Appends a row; rows must ascend by fingerprint.
    pub(super) fn take(&mut self, row: Row) -> Result<(), StageError> {
        for (&run, values) in row.runs.iter().zip(row.values.chunks(self.measures.len())) {
            self.kept.row(row.fingerprint, self.numbers[run as usize], values)?;
        }
        self.texts.push(self.signatures.of(row.fingerprint)?);
        self.rows.push(Row { runs: Vec::new(), values: Vec::new(), ..row });
        if self.rows.len() < BATCH { Ok(()) } else { self.flush() }
    }

    /// Finishes both files.
    pub(super) fn finish(mut self) -> Result<Vec<run::Table>, StageError> {
        self.flush()?;
        Ok(vec![self.table.finish()?, self.kept.finish()?])
    }

    fn run(&self, run: u32) -> &'a RolledRun {
        &self.group.runs[self.numbers[run as usize] as usize]
    }

    fn flush(&mut self) -> Result<(), StageError> {
        let texts = std::mem::take(&mut self.texts);
        // One row per measure.
        let count = self.rows.len() * self.measures.len();
        let each = || self.rows.iter().flat_map(|row| row.measures.iter().zip(self.measures).map(move |of| (row, of)));
        let worst = |text: fn(&RolledRun) -> &str| -> ArrayRef {
            Arc::new(each().map(|(row, _)| Some(text(self.run(row.worst)))).collect::<StringArray>())
        };
        let numbers = |of: &dyn Fn(&Row, &Summed) -> Option<i64>| -> ArrayRef {
            Arc::new(each().map(|(row, (summed, _))| of(row, summed)).collect::<Int64Array>())
        };
        let told = |of: fn(&Summed) -> i64| numbers(&move |_, summed| summed.amounts.told(of(summed)));
        let times = |of: fn((i64, i64)) -> i64| -> ArrayRef {
            let times = each().map(|(row, _)| row.seen.map(of));
            Arc::new(times.collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
        };
        let texts = texts.iter().flat_map(|text| repeat_n(text, self.measures.len()));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(repeat_n(&self.group.format, count))),
            Arc::new(repeat_n(self.group.release.as_deref(), count).collect::<StringArray>()),
            self.labels(count),
            Arc::new(texts.map(Some).collect::<StringArray>()),
            Arc::new(each().map(|(row, _)| Some(row.fingerprint)).collect::<UInt64Array>()),
            Arc::new(each().map(|(_, (_, name))| Some(*name)).collect::<StringArray>()),
            numbers(&|_, _| Some(self.numbers.len() as i64)),
            numbers(&|row, _| Some(row.runs_with as i64)),
            numbers(&|_, _| self.hosts),
            numbers(&|row, _| row.hosts_with.map(|hosts| hosts as i64)),
            told(|summed| summed.amounts.sum),
            told(|summed| summed.amounts.mean),
            told(|summed| summed.amounts.median),
            told(|summed| summed.amounts.p90),
            told(|summed| summed.amounts.max),
            told(|summed| summed.min),
            told(|summed| summed.p99),
            times(|(first, _)| first),
            times(|(_, last)| last),
            worst(|run| &run.release),
            worst(|run| &run.snapshot),
        ];
        self.rows.clear();
        self.table.write(&columns)
    }

    /// The labels of the group, `count` times.
    fn labels(&self, count: usize) -> ArrayRef {
        let names = MapFieldNames { entry: "entries".into(), key: "keys".into(), value: "values".into() };
        let mut map = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
        for _ in 0..count {
            for (key, value) in &self.group.labels {
                map.keys().append_value(key);
                map.values().append_value(value);
            }
            // Keys and values were appended in pairs, so this cannot fail.
            let _ = map.append(true);
        }
        Arc::new(map.finish())
    }
}
