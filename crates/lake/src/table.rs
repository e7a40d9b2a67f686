//! A Parquet file with heaplake's settings.
//!
//! zstd level 1, since level 3 gains next to nothing; tiny columns uncompressed (`crate::pages`); statistics on; row
//! groups of a million rows, or fewer if texts are many and long. Files do not depend on time, threads or paths.
//!
//! All columns but nested ones are encoded here, not by the library, whose encoders are called per value; it writes the
//! structure around them, and the nested columns of small tables. A constant column is one page.
//!
//! The encodings were chosen by a measurement on 4.8 million nodes (compressed size of the whole column):
//!
//! | column | delta | dictionary | plain | byte stream split |
//! |---|---|---|---|---|
//! | `node`, `id` | 17 KB, 19 KB | 23 MB, 15 MB | 13 MB, 5 MB | 121 KB, 120 KB |
//! | `class_id` | 610 KB | 438 KB | 698 KB | 402 KB |
//! | `self_bytes`, `shallow_bytes` | 562 KB each | 448 KB, 466 KB | 2.0 MB each | 405 KB, 413 KB |
//! | `retained_bytes` | 1112 KB | 627 KB | 2652 KB | 680 KB |
//! | `edge_count`, `retainer_count` | 566 KB, 1021 KB | 478 KB, 689 KB | 716 KB, 1001 KB | 428 KB, 594 KB |
//! | `distance` | 453 KB | 416 KB | 742 KB | 432 KB |
//! | `dominator` | 8.4 MB | 17.4 MB | 9.8 MB | 5.3 MB |
//!
//! Columns with few distinct numbers get a dictionary (`crate::values`), the others are delta encoded. Statistics per
//! page cost nothing measurable. `BYTE_STREAM_SPLIT` would be the smallest for nearly all numbers, but DuckDB refused
//! it for integers until July 2026 (duckdb#24175), and Spark's vectorised reader only then began to support it
//! (SPARK-56894): too new for our readers.

use crate::column::{Failure, Input, whole};
use crate::held::Held;
use crate::row_group::{Limits, encode};
use crate::source::Source;
use arrow::array::{Array, ArrayRef, StringArray};
use arrow::datatypes::SchemaRef;
use heaplake_kit::fs::File;
use heaplake_kit::stage::Output;
use heaplake_kit::{Context, StageError};
#[cfg(doc)]
use heaplake_schemas::table::RUN_COLUMNS;
use heaplake_schemas::table::has_run_columns;
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION, metadata};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use std::io;
use std::iter::repeat_n;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Limits of row groups: long texts or unordered numbers end one before a million rows.
const LIMITS: Limits = Limits { batch: 1 << 16, rows: 1 << 20, bytes: 10 << 20, dictionary: 8 << 20 };

/// Maximum memory of the writer of any table, bytes.
pub const WRITER_BYTES: u64 = 48 << 20;

/// A table being written.
pub struct Table {
    path: PathBuf,
    file: &'static str,
    schema: SchemaRef,
    /// Release and snapshot, if the schema begins with these columns.
    run: Vec<String>,
    writer: SerializedFileWriter<Held>,
    columns: ArrowRowGroupWriterFactory,
    /// Page checksums per column and row group; `None` for columns written by the library.
    sums: Vec<Option<Vec<u32>>>,
    pub(crate) limits: Limits,
    rows: u64,
}

impl Table {
    /// Creates a table of a run; fills the columns [`RUN_COLUMNS`] if its schema begins with them.
    pub fn create(output: &Output, file: &'static str, schema: SchemaRef) -> Result<Self, StageError> {
        let run = match has_run_columns(&schema) {
            true => vec![output.release.clone(), output.snapshot.clone()],
            false => Vec::new(),
        };
        let properties = properties(&schema, Some(&output.input_hash), LIMITS.batch);
        Self::with(output.folder.join(file), file, (schema, run), properties)
    }

    /// Creates a table of the rows of many runs in `folder`, with pages of `page` rows. Its rows come with all columns.
    pub(crate) fn of_many_runs(
        folder: &Path,
        file: &'static str,
        schema: SchemaRef,
        page: usize,
    ) -> Result<Self, StageError> {
        let properties = properties(&schema, None, page);
        let table = Self::with(folder.join(file), file, (schema, Vec::new()), properties)?;
        Ok(Self { limits: Limits { batch: page, ..LIMITS }, ..table })
    }

    fn with(
        path: PathBuf,
        file: &'static str,
        (schema, run): (SchemaRef, Vec<String>),
        properties: WriterProperties,
    ) -> Result<Self, StageError> {
        let created = File::create(&path).map_err(|error| StageError::io(&path, "create", error))?;
        let (writer, columns) = ArrowWriter::try_new(Held::new(created), schema.clone(), Some(properties))
            .and_then(ArrowWriter::into_serialized_writer)
            .map_err(|error| failed(&path, error))?;
        Ok(Self { path, file, schema, run, writer, columns, sums: Vec::new(), limits: LIMITS, rows: 0 })
    }

    /// Appends `rows` rows of the sources: the table's own columns in order, none nested.
    pub fn fill(&mut self, sources: Vec<Source<'_>>, rows: u64, context: &Context<'_>) -> Result<(), StageError> {
        let run = self.run.clone();
        let of_run = run.iter().map(|text| Source::Same(Some(text)));
        let mut inputs: Vec<Input<'_>> = of_run.chain(sources).map(Input::from).collect();
        let end = self.rows + rows;
        while self.rows < end {
            self.group(&mut inputs, end - self.rows, context).map_err(|failure| match failure {
                Failure::Source(error) => error,
                Failure::Writer(error) => failed(&self.path, error),
            })?;
        }
        Ok(())
    }

    fn group(&mut self, inputs: &mut [Input<'_>], most: u64, context: &Context<'_>) -> Result<(), Failure> {
        let columns = (&*self.schema, self.writer.schema_descr());
        let (rows, columns) = encode(inputs, columns, self.limits, most, context)?;
        let mut group = self.writer.next_row_group()?;
        for column in columns {
            self.sums.push(Some(column.append(&mut group)?));
        }
        group.close()?;
        self.rows += rows;
        Ok(())
    }

    /// Appends a few rows, given as the table's own columns in order.
    pub fn write(&mut self, columns: &[ArrayRef]) -> Result<(), StageError> {
        self.write_columns(columns).map_err(|error| failed(&self.path, error))
    }

    fn write_columns(&mut self, columns: &[ArrayRef]) -> Result<(), ParquetError> {
        let rows = columns.first().map_or(0, Array::len);
        if rows == 0 {
            return Ok(());
        }
        let constant = |text: &String| -> ArrayRef { Arc::new(StringArray::from_iter_values(repeat_n(text, rows))) };
        let of_run: Vec<ArrayRef> = self.run.iter().map(constant).collect();
        let leaves = self.writer.schema_descr().columns().to_vec();
        // The library writes nested columns, which have several leaves.
        let nested = match self.schema.fields().iter().any(|field| field.data_type().is_nested()) {
            true => self.columns.create_column_writers(self.writer.flushed_row_groups().len())?,
            false => Vec::new(),
        };
        let (mut leaves, mut nested) = (leaves.iter(), nested.into_iter());
        let mut group = self.writer.next_row_group()?;
        for (field, column) in self.schema.fields().iter().zip(of_run.iter().chain(columns)) {
            if !field.data_type().is_nested()
                && let Some(leaf) = leaves.next()
                && let Some(closed) = whole(column, field, leaf, self.limits.batch)?
            {
                nested.by_ref().take(1).for_each(drop);
                self.sums.push(Some(closed.append(&mut group)?));
                continue;
            }
            for leaf in compute_leaves(field, column)? {
                let Some(mut writer) = nested.next() else { break };
                leaves.by_ref().take(1).for_each(drop);
                writer.write(&leaf)?;
                writer.close()?.append_to_row_group(&mut group)?;
                self.sums.push(None);
            }
        }
        group.close()?;
        self.rows += rows as u64;
        Ok(())
    }

    /// Adds an entry to the metadata of the file.
    pub(crate) fn describe(&mut self, key: &str, value: String) {
        self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
    }

    /// Ends the file and syncs it to disk.
    pub fn finish(mut self) -> Result<heaplake_schemas::run::Table, StageError> {
        self.end().map_err(|error| failed(&self.path, error))?;
        let file = self.writer.inner().file();
        file.sync_all().map_err(|error| StageError::io(&self.path, "write", error))?;
        let bytes = file.metadata().map_err(|error| StageError::io(&self.path, "examine", error))?.len();
        Ok(heaplake_schemas::run::Table { file: self.file.to_owned(), rows: self.rows, bytes, xxh3_64: None })
    }
}

impl Table {
    /// Writes the end of the file, with checksums.
    fn end(&mut self) -> Result<(), ParquetError> {
        self.writer.flush()?;
        self.writer.inner_mut().hold();
        self.writer.finish()?;
        let sums = std::mem::take(&mut self.sums);
        Ok(self.writer.inner_mut().release(&self.path, sums)?)
    }
}

fn properties(schema: &SchemaRef, input_hash: Option<&str>, page: usize) -> WriterProperties {
    let metadata = [(metadata::VERSION, HEAPLAKE_VERSION.to_owned()), (metadata::SCHEMA, SCHEMA_VERSION.to_string())];
    let input = input_hash.map(|hash| (metadata::INPUT_HASH, hash.to_owned()));
    let metadata = metadata.into_iter().chain(input).map(|(key, value)| KeyValue::new(key.to_owned(), value));
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_data_page_row_count_limit(page)
        .set_created_by(format!("heaplake {HEAPLAKE_VERSION}"))
        .set_key_value_metadata(Some(metadata.collect()));
    // The library creates a writer per column, unused for those not nested: make them cheap.
    for field in schema.fields().iter().filter(|field| !field.data_type().is_nested()) {
        let column = ColumnPath::from(field.name().as_str());
        properties = properties
            .set_column_compression(column.clone(), Compression::UNCOMPRESSED)
            .set_column_dictionary_enabled(column, false);
    }
    properties.build()
}

fn failed(path: &Path, error: ParquetError) -> StageError {
    let source = match error {
        // Unwrap the I/O error, which identifies a full disk.
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        other => io::Error::other(other),
    };
    StageError::io(path, "write", source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::array;
    use crate::text::{NONE, Texts};
    use arrow::array::{AsArray, RecordBatch};
    use arrow::compute::concat_batches;
    use arrow::datatypes::{DataType, Field, Schema, UInt32Type};
    use heaplake_kit::{Budget, stage::Silent};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::file::metadata::RowGroupMetaData;
    use std::fs::{self, File};
    use std::sync::atomic::AtomicBool;

    fn fields() -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("number", DataType::UInt32, false),
            Field::new("text", DataType::Utf8, true),
            Field::new("kind", DataType::Utf8, false),
        ]))
    }

    /// Writes ascending rows, each with a text (or null) and a kind; returns the path of their table.
    fn written(
        folder: &Path,
        (texts, positions): (&[String], &[u32]),
        limits: Limits,
        threads: usize,
    ) -> Result<PathBuf, StageError> {
        let cancel = AtomicBool::new(false);
        let context = Context { budget: Budget::new(0), threads, progress: &Silent, cancel: &cancel };
        let kinds = ["even".to_owned(), "odd".to_owned()];
        let (mut number, mut text, mut kind) = (0, 0, 0);
        let output = Output { folder: folder.to_owned(), ..Output::default() };
        let mut table = Table::create(&output, "table.parquet", fields())?;
        table.limits = limits;
        let sources = vec![
            Source::values(|rows| {
                number += rows as u32;
                Ok(array::<UInt32Type>((number - rows as u32..number).collect()))
            }),
            Source::texts(Texts::Names(texts), |rows| {
                text += rows;
                Ok(positions[text - rows..text].to_vec())
            }),
            Source::texts(Texts::Names(&kinds), |rows| {
                kind += rows;
                Ok((kind - rows..kind).map(|row| row as u32 % 2).collect())
            }),
        ];
        table.fill(sources, positions.len() as u64, &context)?;
        assert_eq!(table.finish()?.rows, positions.len() as u64);
        Ok(folder.join("table.parquet"))
    }

    /// Writes with one and with several threads, compares the bytes, reads back; returns the rows per row group.
    fn check(texts: &[String], positions: &[u32], limits: Limits) -> Vec<i64> {
        let folder = tempfile::tempdir().unwrap();
        let file = written(folder.path(), (texts, positions), limits, 1).unwrap();
        let bytes = fs::read(&file).unwrap();
        for threads in [2, 3, 16] {
            written(folder.path(), (texts, positions), limits, threads).unwrap();
            assert!(fs::read(&file).unwrap() == bytes, "{threads} threads");
        }
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&file).unwrap()).unwrap();
        assert_eq!(reader.schema().fields(), fields().fields());
        let groups = reader.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).collect();
        let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        let all = concat_batches(&fields(), &batches).unwrap();
        assert_eq!(all.num_rows(), positions.len());
        let (read, kinds) = (all.column(1).as_string::<i32>(), all.column(2).as_string::<i32>());
        for (row, &position) in positions.iter().enumerate() {
            assert_eq!(all.column(0).as_primitive::<UInt32Type>().value(row), row as u32);
            assert_eq!(kinds.value(row), ["even", "odd"][row % 2]);
            let expected = (position != NONE).then(|| texts[position as usize].as_str());
            assert!((!read.is_null(row)).then(|| read.value(row)) == expected, "row {row}");
        }
        groups
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("name {at}")).collect()
    }

    #[test]
    fn several_row_groups() {
        let limits = Limits { batch: 5000, rows: 12_000, ..LIMITS };
        let positions: Vec<u32> = (0..30_000).map(|row: u32| row.wrapping_mul(2_654_435_761) % 300).collect();
        assert_eq!(check(&names(300), &positions, limits), [12_000, 12_000, 6000]);
        // A limit of one byte ends each row group after its first batch.
        assert_eq!(check(&names(300), &positions, Limits { bytes: 1, ..limits }), [5000; 6]);
    }

    #[test]
    fn keys_of_every_width_and_rows_without_text() {
        for count in [1, 16, 17, 256, 257, 65_536, 65_537] {
            let rows = (0..count as u32).flat_map(|at| [at, NONE, count as u32 - 1 - at]);
            assert_eq!(check(&names(count), &rows.collect::<Vec<_>>(), LIMITS).len(), 1, "{count}");
        }
        assert_eq!(check(&[], &[NONE; 70_000], LIMITS), [70_000]);
    }

    #[test]
    fn no_rows() {
        assert!(check(&[], &[], LIMITS).is_empty());
    }

    #[test]
    fn full_dictionaries_end_row_groups() {
        // Each text takes 30 bytes with its overhead: three fit; the fourth distinct one begins a row group.
        let texts: Vec<String> = (0..9).map(|at| format!("text {at:05}")).collect();
        let limits = Limits { dictionary: 100, ..LIMITS };
        assert_eq!(check(&texts, &[0, 1, NONE, 2, 1, 0, 3, 3, 4, 5, 6], limits), [6, 4, 1]);
        // A text that fits no dictionary gets its own row group, with all following rows of the same text.
        let long = ["x".repeat(5000), "y".repeat(5000), "z".to_owned()];
        assert_eq!(check(&long, &[0, 0, 1, NONE, 1, 2], limits), [2, 3, 1]);
    }

    #[test]
    fn a_long_text_of_many_rows_is_kept_once() {
        let long = ["long \u{20ac} ".repeat(100_000)];
        let folder = tempfile::tempdir().unwrap();
        let file = written(folder.path(), (&long, &[0; 200_000]), LIMITS, 2).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&file).unwrap()).unwrap();
        assert_eq!(reader.metadata().row_groups().len(), 1);
        assert!(fs::metadata(&file).unwrap().len() < 100_000);
        let first = reader.with_batch_size(1).build().unwrap().next().unwrap().unwrap();
        assert!(first.column(1).as_string::<i32>().value(0) == long[0]);
    }
}
