//! Writes one table of a group, and its file of rows.

use super::row::Row;
use crate::columns::Columns;
use crate::rows::kept::Writer;
use crate::rows::{Gathered, OfSide};
use arrow::array::{ArrayRef, MapBuilder, MapFieldNames, StringBuilder, TimestampMicrosecondArray};
use heaplake_kit::StageError;
use heaplake_kit::stage::Output;
use heaplake_lake::table::Table;
use heaplake_schemas::rollup::{Brief, Group, RolledRun, RollupTable, TopRow};
use heaplake_schemas::run;
use std::sync::Arc;

/// Rows per row group.
const BATCH: usize = 1 << 14;
/// Maximum rows in the summary of a table.
const TOP: usize = 20;

/// A table being written.
pub(super) struct Made<'a> {
    group: &'a Group,
    /// Indices, within the group, of the runs with the table.
    numbers: Vec<u32>,
    /// Runs and hosts with the table.
    side: OfSide,
    /// Rows with their signatures.
    rows: Vec<(Row, String)>,
    measures: &'static [&'static str],
    brief: Brief,
    /// Rows of the summary with their sums, largest first.
    largest: Vec<(Option<i64>, TopRow)>,
    table: Table,
    kept: Writer,
}

impl<'a> Made<'a> {
    /// Creates a table of `group`; `numbers` has the runs with the rows.
    pub(super) fn create(
        of: &RollupTable,
        group: &'a Group,
        numbers: Vec<u32>,
        gathered: &Gathered<'_>,
        output: &Output,
    ) -> Result<Self, StageError> {
        let measures = of.rows.measures;
        let (table, measure) = (of.table.name.to_owned(), measures[0].to_owned());
        Ok(Self {
            group,
            numbers,
            side: gathered.of_sides()[0],
            rows: Vec::new(),
            measures,
            brief: Brief { table, measure, ..Brief::default() },
            largest: Vec::new(),
            table: Table::create(output, of.table.file, of.table.schema())?,
            kept: Writer::create(output, of)?,
        })
    }

    /// Capture time of each run.
    pub(super) fn captured(&self) -> Vec<Option<i64>> {
        (0..self.numbers.len()).map(|run| self.run(run as u32).captured_at_us).collect()
    }

    /// Appends a row; rows must ascend by fingerprint.
    pub(super) fn take(&mut self, row: Row, signature: String) -> Result<(), StageError> {
        for (&run, values) in row.runs.iter().zip(row.values.chunks(self.measures.len())) {
            self.kept.row(row.fingerprint, self.numbers[run as usize], values)?;
        }
        self.rank(&row, &signature);
        self.rows.push((Row { runs: Vec::new(), values: Vec::new(), ..row }, signature));
        if self.rows.len() < BATCH { Ok(()) } else { self.flush() }
    }

    /// Adds a row to the summary, if its sum is among the largest.
    fn rank(&mut self, row: &Row, signature: &str) {
        self.brief.rows += 1;
        let of = &row.measures[0].amounts;
        let sum = of.if_reported(of.sum);
        let place = self.largest.partition_point(|(larger, _)| *larger >= sum);
        if place == TOP {
            return;
        }
        let worst = self.run(row.worst);
        let is_worst = |run: &RolledRun| (&run.release, &run.snapshot) == (&worst.release, &worst.snapshot);
        let top = TopRow {
            signature: signature.to_owned(),
            runs_with: of.with[0].into(),
            hosts_with: self.side.hosts.map(|_| of.with[1].into()),
            p50: of.median,
            sum: of.sum,
            max: of.max,
            worst: self.group.runs.iter().position(is_worst).unwrap_or(0),
        };
        self.largest.insert(place, (sum, top));
        self.largest.truncate(TOP);
        self.brief.runs = self.side.runs as i64;
    }

    /// Finishes both files; also returns the summary.
    pub(super) fn finish(mut self) -> Result<(Vec<run::Table>, Brief), StageError> {
        self.flush()?;
        let mut top: Vec<TopRow> = self.largest.into_iter().map(|(_, row)| row).collect();
        top.sort_by(|a, b| b.sum.cmp(&a.sum).then(b.max.cmp(&a.max)).then_with(|| a.signature.cmp(&b.signature)));
        Ok((vec![self.table.finish()?, self.kept.finish()?], Brief { top, ..self.brief }))
    }

    fn run(&self, run: u32) -> &'a RolledRun {
        &self.group.runs[self.numbers[run as usize] as usize]
    }

    fn flush(&mut self) -> Result<(), StageError> {
        let made = std::mem::take(&mut self.rows);
        // One row per measure.
        let rows: Vec<(&(Row, String), usize)> =
            made.iter().flat_map(|row| (0..self.measures.len()).map(move |measure| (row, measure))).collect();
        let mut columns = Columns::of(&rows);
        columns.text(|_| Some(&self.group.format));
        columns.text(|_| self.group.release.as_ref());
        columns.arrays.push(self.labels(rows.len()));
        columns.text(|((_, signature), _)| Some(signature));
        columns.fingerprint(|((row, _), _)| Some(row.fingerprint));
        columns.text(|(_, measure)| self.measures.get(*measure));
        columns.amounts(|_| self.side, |((row, _), measure)| &row.measures[*measure].amounts);
        columns.number(|((row, _), measure)| row.measures[*measure].min);
        columns.number(|((row, _), measure)| row.measures[*measure].p99);
        for of in [|(first, _): (i64, i64)| first, |(_, last)| last] {
            let times: TimestampMicrosecondArray = rows.iter().map(|((row, _), _)| row.seen.map(of)).collect();
            columns.arrays.push(Arc::new(times.with_timezone("UTC")));
        }
        columns.text(|((row, _), _)| Some(&self.run(row.worst).release));
        columns.text(|((row, _), _)| Some(&self.run(row.worst).snapshot));
        let columns = columns.arrays;
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
