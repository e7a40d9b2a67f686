//! A segment of the catalogue: a folder with the tables [`RUNS`] and [`TABLES`], never changed once it is there.

use super::columns::Columns;
use crate::entry::{Details, Entry, TableEntry, shared};
use crate::reader::{Reader, damaged, value};
use crate::source::{array, sizes};
use crate::standing::Version;
use crate::table::Table;
use arrow::array::{
    ArrayRef, BooleanArray, Int64Array, MapBuilder, MapFieldNames, StringArray, StringBuilder,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow::datatypes::UInt32Type;
use heaplake_kit::StageError;
use heaplake_kit::stage::Output;
use heaplake_schemas::catalogue::{RUNS, TABLES};
use heaplake_schemas::options::Texts;
use std::path::Path;
use std::sync::Arc;

/// A run with what tells whether the catalogue still describes it.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Its folder, relative to the lake.
    pub path: String,
    /// Its entry, with all tables and details.
    pub entry: Entry,
    /// Version of its description.
    pub version: Version,
    /// Bytes of its files.
    pub disk_bytes: u64,
}

/// Writes the tables of a segment into a folder.
pub(crate) fn write(folder: &Path, rows: &[Row]) -> Result<(), StageError> {
    let output = Output { folder: folder.to_owned(), ..Output::default() };
    let mut table = Table::create(&output, RUNS.file, RUNS.schema())?;
    table.write(&of_runs(rows, folder)?)?;
    table.finish()?;
    let mut table = Table::create(&output, TABLES.file, TABLES.schema())?;
    table.write(&of_tables(rows))?;
    table.finish()?;
    Ok(())
}

/// The columns of [`RUNS`].
fn of_runs(rows: &[Row], folder: &Path) -> Result<Vec<ArrayRef>, StageError> {
    let entry = |of: fn(&Entry) -> &str| text(rows.iter().map(|row| of(&row.entry)));
    let details: Vec<&Details> = rows.iter().filter_map(|row| row.entry.details.as_deref()).collect();
    let detail = |of: fn(&Details) -> &str| text(details.iter().map(|details| of(details)));
    let amount = |of: fn(&Row) -> u64| sizes(rows.iter().map(of).collect());
    let amount_of = |of: fn(&Details) -> u64| sizes(details.iter().map(|details| of(details)).collect());
    let number = |of: fn(&Row) -> u32| -> ArrayRef { array::<UInt32Type>(rows.iter().map(of).collect()) };
    let flag =
        |of: fn(&Row) -> bool| -> ArrayRef { Arc::new(rows.iter().map(|row| Some(of(row))).collect::<BooleanArray>()) };
    let time = |of: fn(&Row) -> i64| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<Int64Array>()) };
    let optional =
        |of: fn(&Row) -> Option<&str>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<StringArray>()) };
    let captured = rows.iter().map(|row| row.entry.captured_at_us).collect::<TimestampMicrosecondArray>();
    let peaks = details.iter().map(|details| details.peak_rss_bytes.and_then(|bytes| i64::try_from(bytes).ok()));
    let rules = rows.iter().map(|row| row.entry.name_rules).collect::<UInt64Array>();
    Ok(vec![
        text(rows.iter().map(|row| row.path.as_str())),
        entry(|entry| &entry.release),
        entry(|entry| &entry.snapshot),
        entry(|entry| &entry.format),
        flag(|row| row.entry.is_replay),
        Arc::new(captured.with_timezone("UTC")),
        labels(rows, folder)?,
        number(|row| row.entry.schema_version),
        detail(|details| &details.heaplake_version),
        detail(|details| &details.source),
        amount(|row| row.entry.input_bytes),
        detail(|details| &details.input_hash),
        amount(|row| row.entry.objects),
        amount_of(|details| details.edges),
        amount(|row| row.entry.bytes),
        number(|row| row.entry.findings[0]),
        number(|row| row.entry.findings[1]),
        number(|row| row.entry.findings[2]),
        optional(|row| row.entry.partial.as_deref()),
        optional(|row| row.entry.texts.map(Texts::name)),
        amount_of(|details| details.table_bytes),
        amount(|row| row.disk_bytes),
        amount_of(|details| details.scratch_bytes),
        Arc::new(peaks.collect::<Int64Array>()),
        Arc::new(rules),
        entry(|entry| &entry.identity),
        flag(|row| row.entry.is_sealed),
        optional(|row| row.entry.folder.as_deref()),
        optional(|row| row.entry.packed.as_ref().map(|packed| packed.night.as_str())),
        optional(|row| row.entry.packed.as_ref().map(|packed| packed.seal.as_str())),
        amount(|row| row.version.bytes),
        time(|row| row.version.changed_ns),
        time(|row| row.version.folder_changed_ns),
        optional(|row| row.version.tag.as_deref()),
    ])
}

fn text<'a>(texts: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(texts.map(Some).collect::<StringArray>())
}

fn labels(rows: &[Row], folder: &Path) -> Result<ArrayRef, StageError> {
    let names = MapFieldNames { entry: "entries".into(), key: "keys".into(), value: "values".into() };
    let mut map = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for row in rows {
        for (name, value) in row.entry.labels.iter() {
            map.keys().append_value(name);
            map.values().append_value(value);
        }
        map.append(true).map_err(|error| damaged(folder, format!("labels: {error}")))?;
    }
    Ok(Arc::new(map.finish()))
}

/// The columns of [`TABLES`].
fn of_tables(rows: &[Row]) -> Vec<ArrayRef> {
    let all = || rows.iter().enumerate().flat_map(|(run, row)| row.entry.tables.iter().map(move |table| (run, table)));
    let checksums = all().map(|(_, table)| table.xxh3_64).collect::<UInt64Array>();
    vec![
        array::<UInt32Type>(all().map(|(run, _)| run as u32).collect()),
        text(all().map(|(_, table)| &*table.file)),
        sizes(all().map(|(_, table)| table.rows).collect()),
        sizes(all().map(|(_, table)| table.bytes).collect()),
        Arc::new(checksums),
    ]
}

/// A segment in memory: columns of its runs, and the tables asked for.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Its runs.
    pub runs: Columns,
    /// Rows of `tables` of each run.
    starts: Vec<u32>,
    tables: Vec<TableEntry>,
    /// Number of all tables of each run.
    counts: Vec<u32>,
}

impl Segment {
    /// Reads a segment: the runs, and their `wanted` tables.
    pub(crate) fn read(folder: &Path, wanted: &dyn Fn(&str) -> bool, details: bool) -> Result<Self, StageError> {
        let runs = Columns::read(&folder.join(RUNS.file), details)?;
        let (starts, counts) = (vec![0; runs.len() + 1], vec![0; runs.len()]);
        let mut segment = Self { starts, runs, tables: Vec::new(), counts };
        segment.read_tables(&folder.join(TABLES.file), wanted)?;
        Ok(segment)
    }

    fn read_tables(&mut self, path: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<(), StageError> {
        let mut rows = Reader::open(path)?.columns(&["run", "file", "rows", "bytes", "xxh3_64"])?;
        let (runs, mut last) = (self.runs.len(), 0);
        while let Some(batch) = rows.batch()? {
            let (of, files) = (batch.u32s("run")?, batch.texts("file")?);
            let (counts, bytes, checksums) = (batch.sizes("rows")?, batch.sizes("bytes")?, batch.u64s("xxh3_64")?);
            for row in 0..batch.len() {
                let run = of.value(row) as usize;
                if run >= runs || run < last {
                    let problem = format!("expected runs below {runs}, ascending, found {run} after {last}");
                    return Err(damaged(path, problem));
                }
                last = run;
                self.counts[run] += 1;
                let file = files.value(row);
                if wanted(file) {
                    let (rows, bytes, xxh3_64) = (counts.value(row), bytes.value(row), value(checksums, row));
                    self.tables.push(TableEntry { file: shared(file), rows, bytes, xxh3_64 });
                    self.starts[run + 1] += 1;
                }
            }
        }
        for run in 0..runs {
            self.starts[run + 1] += self.starts[run];
        }
        Ok(())
    }

    /// Number of all tables of a run.
    pub(crate) fn table_count(&self, run: usize) -> usize {
        self.counts[run] as usize
    }

    /// The entry of a run.
    pub(crate) fn entry(&self, run: usize) -> Entry {
        let tables = &self.tables[self.starts[run] as usize..self.starts[run + 1] as usize];
        self.runs.entry(run, tables)
    }

    /// A run with its identity.
    pub(crate) fn row(&self, run: usize) -> Row {
        Row {
            path: self.runs.path(run).to_owned(),
            entry: self.entry(run),
            version: self.runs.version(run),
            disk_bytes: self.runs.disk_bytes(run),
        }
    }
}
