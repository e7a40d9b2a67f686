//! Compares encoded tables with the Parquet library: rows read back, and statistics.

use crate::row_group::Limits;
use crate::source::Source;
use crate::table::Table;
use crate::text::{NONE, Texts};
use arrow::array::*;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use heaplake_kit::stage::{Output, Silent};
use heaplake_kit::{Budget, Context};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;
use proptest::prelude::*;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Creates columns of all types from numbers or nulls; with lists if nested columns can be written.
fn batch(numbers: &[Option<u64>], with_lists: bool) -> RecordBatch {
    let of = |number: fn(u64) -> f64| numbers.iter().map(|n| n.map(number)).collect::<Float64Array>();
    let texts: Vec<Option<String>> = numbers.iter().map(|n| n.map(|n| "x".repeat(n as usize % 5))).collect();
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("u8", Arc::new(numbers.iter().map(|n| n.map(|n| n as u8)).collect::<UInt8Array>())),
        ("u32", Arc::new(numbers.iter().map(|n| n.map(|n| n as u32)).collect::<UInt32Array>())),
        ("u64", Arc::new(numbers.iter().copied().collect::<UInt64Array>())),
        ("i32", Arc::new(numbers.iter().map(|n| n.map(|n| n as i32)).collect::<Int32Array>())),
        ("i64", Arc::new(numbers.iter().map(|n| n.map(|n| n as i64)).collect::<Int64Array>())),
        // Gets a dictionary.
        ("retained_bytes", Arc::new(numbers.iter().map(|n| n.map(|n| n as i64)).collect::<Int64Array>())),
        ("f64", Arc::new(of(|n| if n % 7 == 3 { f64::NAN } else { n as f64 / 3.0 - 1e9 }))),
        ("flag", Arc::new(numbers.iter().map(|n| n.map(|n| n % 3 == 0)).collect::<BooleanArray>())),
        (
            "time",
            Arc::new(
                numbers.iter().map(|n| n.map(|n| n as i64)).collect::<TimestampMicrosecondArray>().with_timezone("UTC"),
            ),
        ),
        ("null", Arc::new(UInt32Array::new_null(numbers.len()))),
        ("number", Arc::new((0..numbers.len() as u32).collect::<UInt32Array>())),
        ("made", Arc::new(texts.iter().cloned().collect::<StringArray>())),
        ("text", Arc::new(texts.iter().cloned().collect::<StringArray>())),
    ];
    if with_lists {
        let mut lists = ListBuilder::new(StringBuilder::new());
        texts.iter().for_each(|text| lists.append_option(text.as_ref().map(|text| [Some(text.as_str()), None])));
        columns.insert(3, ("list", Arc::new(lists.finish())));
    }
    let nullable = |name: &str| name != "number";
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, nullable(name))))
        .unwrap()
}

fn create(folder: &Path, schema: SchemaRef) -> Table {
    Table::create(&Output { folder: folder.to_owned(), ..Output::default() }, "table.parquet", schema).unwrap()
}

/// Writes rows as whole arrays.
fn write(folder: &Path, rows: &RecordBatch) {
    let mut table = create(folder, rows.schema());
    table.write(rows.columns()).unwrap();
    table.finish().unwrap();
}

/// Writes rows from sources, in small row groups and pages.
fn fill(folder: &Path, rows: &RecordBatch, limits: Limits, threads: usize) {
    let mut table = create(folder, rows.schema());
    table.limits = limits;
    let texts: Vec<String> = (0..5).map(|length| "x".repeat(length)).collect();
    let sources = rows.columns().iter().enumerate().map(|(place, column)| {
        let mut at = 0;
        // The last column has texts by position.
        match column.as_string_opt::<i32>().filter(|_| place + 1 == rows.num_columns()) {
            Some(column) => Source::texts(Texts::Names(&texts), move |rows| {
                at += rows;
                let rows = (at - rows..at).map(|row| column.is_valid(row).then(|| column.value(row).len() as u32));
                Ok(rows.map(|position| position.unwrap_or(NONE)).collect())
            }),
            None if column.null_count() == column.len() => Source::nothing(),
            None => Source::values(move |rows| {
                at += rows;
                Ok(column.slice(at - rows, rows))
            }),
        }
    });
    let cancel = AtomicBool::new(false);
    let context = Context { budget: Budget::new(0), threads, progress: &Silent, cancel: &cancel };
    table.fill(sources.collect(), rows.num_rows() as u64, &context).unwrap();
    table.finish().unwrap();
}

fn read(folder: &Path) -> (RecordBatch, Arc<ParquetMetaData>) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(folder.join("table.parquet")).unwrap()).unwrap();
    let (schema, metadata) = (reader.schema().clone(), reader.metadata().clone());
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    (concat_batches(&schema, &batches).unwrap(), metadata)
}

/// Writes the same rows with the library, in one row group.
fn by_library(folder: &Path, rows: &RecordBatch) {
    let file = File::create(folder.join("table.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), None).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
}

fn assert_same_rows(one: &RecordBatch, other: &RecordBatch) {
    for (column, name) in one.schema().fields().iter().map(|field| field.name()).enumerate() {
        // Compare as text: NaN equals itself there.
        let text = |rows: &RecordBatch| format!("{:?}", rows.column(column).to_data());
        assert!(one.column(column) == other.column(column) || text(one) == text(other), "{name}");
    }
}

/// Name, minimum, maximum, null count of a column.
type Told = (String, Option<Vec<u8>>, Option<Vec<u8>>, Option<u64>);

/// Returns the statistics of each column of a row group.
fn statistics(metadata: &ParquetMetaData, group: usize) -> Vec<Told> {
    let of = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    let columns = metadata.row_group(group).columns().iter();
    let all = columns.filter_map(|column| {
        let found = column.statistics()?;
        let (least, most) = (of(found.min_bytes_opt()), of(found.max_bytes_opt()));
        Some((column.column_path().string(), least, most, found.null_count_opt()))
    });
    all.collect()
}

fn check(numbers: &[Option<u64>], limits: Limits) {
    let folder = tempfile::tempdir().unwrap();
    let rows = batch(numbers, true);
    write(folder.path(), &rows);
    let (whole, metadata) = read(folder.path());
    assert_same_rows(&whole, &rows);
    by_library(folder.path(), &rows);
    let (_, expected) = read(folder.path());
    assert_eq!(statistics(&metadata, 0), statistics(&expected, 0));

    let rows = batch(numbers, false);
    let mut bytes = None;
    for threads in [1, 3] {
        fill(folder.path(), &rows, limits, threads);
        let (found, metadata) = read(folder.path());
        assert_same_rows(&found, &rows);
        let mut at = 0;
        for group in 0..metadata.num_row_groups() {
            let count = metadata.row_group(group).num_rows() as usize;
            by_library(folder.path(), &rows.slice(at, count));
            let (_, expected) = read(folder.path());
            let but_texts = |mut all: Vec<_>| {
                all.retain(|(name, ..): &Told| name != "text");
                all
            };
            assert_eq!(but_texts(statistics(&metadata, group)), but_texts(statistics(&expected, 0)), "{group}");
            at += count;
        }
        fill(folder.path(), &rows, limits, threads);
        let now = std::fs::read(folder.path().join("table.parquet")).unwrap();
        assert!(*bytes.get_or_insert_with(|| now.clone()) == now, "{threads} threads");
    }
}

#[test]
fn many_rows() {
    let limits = Limits { batch: 1 << 12, rows: 1 << 16, bytes: 1 << 20, dictionary: 1 << 20 };
    // More distinct numbers than a dictionary takes, then few.
    check(&(0..100_000_u64).map(|n| (n % 11 > 0).then_some(n.min(60_000) * 977)).collect::<Vec<_>>(), limits);
    check(&vec![None; 10_000], limits);
    check(&vec![Some(u64::MAX); 10_000], limits);
}

#[test]
fn many_texts() {
    // The first page fills the dictionary; later ones are plain.
    let texts = (0..150_000).map(|n| (n % 10 > 0).then(|| format!("a text of its own {n}")));
    let column: ArrayRef = Arc::new(texts.collect::<StringArray>());
    let rows = RecordBatch::try_from_iter_with_nullable([("text", column, true)]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &rows);
    assert_same_rows(&read(folder.path()).0, &rows);
}

proptest! {
    #[test]
    fn any_rows(
        numbers in prop::collection::vec(prop::option::weighted(0.8, any::<u64>()), 1..200),
        shift in 0..64_u32,
        rows in 1..90_usize,
        page in 1..40_usize,
    ) {
        let limits = Limits { batch: page, rows, bytes: 1 << 20, dictionary: 100 };
        check(&numbers.into_iter().map(|number| number.map(|number| number >> shift)).collect::<Vec<_>>(), limits);
    }
}
