//! A Parquet file with heaplake's settings.
//!
//! Integers are delta-packed without a dictionary (measured smaller and faster than dictionaries for ordinals and
//! sizes), texts use a dictionary; zstd level 1, since level 3 gains next to nothing; statistics on; row groups of about
//! a million rows. Nothing in a file depends on time, threads or paths.

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, RecordBatch, StringArray, StringBuilder};
use arrow::datatypes::{ArrowPrimitiveType, DataType, SchemaRef, UInt32Type};
use bytemuck::Pod;
use heaplake_kit::{ColumnReader, StageError, StringTable};
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION, metadata};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that are handed to the writer at once.
pub const BATCH: usize = 1 << 16;

const ROW_GROUP: usize = 1 << 20;

/// Bytes that a row group may take while it is written: with long texts it ends before it has its million rows.
const ROW_GROUP_BYTES: usize = 32 << 20;

/// Bytes of text after which rows are handed on: one long string may be the name of many of them.
const TEXT_BYTES: usize = 4 << 20;

/// Bytes of memory that a writer of any table needs, at most.
pub const WRITER_BYTES: u64 = 48 << 20;

/// A table that is being written.
pub struct Table {
    path: PathBuf,
    file: &'static str,
    schema: SchemaRef,
    writer: ArrowWriter<File>,
    rows: u64,
}

impl Table {
    /// Starts a table in a folder.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(folder: &Path, file: &'static str, schema: SchemaRef, input_hash: &str) -> Result<Self, StageError> {
        let path = folder.join(file);
        let output = File::create(&path).map_err(|error| StageError::io(&path, "create", error))?;
        let writer = ArrowWriter::try_new(output, schema.clone(), Some(properties(&schema, input_hash)))
            .map_err(|error| failed(&path, error))?;
        Ok(Self { path, file, schema, writer, rows: 0 })
    }

    /// Appends rows; the columns are those of the schema, in order.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn write(&mut self, columns: Vec<ArrayRef>) -> Result<(), StageError> {
        let batch = RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(|error| failed(&self.path, ParquetError::ArrowError(error.to_string())))?;
        self.rows += batch.num_rows() as u64;
        self.writer.write(&batch).map_err(|error| failed(&self.path, error))?;
        if self.writer.in_progress_size() > ROW_GROUP_BYTES {
            self.writer.flush().map_err(|error| failed(&self.path, error))?;
        }
        Ok(())
    }

    /// Appends rows. Columns that are named in `texts` hold positions in a string table; the texts themselves are made
    /// here, [`TEXT_BYTES`] and one string of each column at a time.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn write_with_texts(&mut self, columns: &[ArrayRef], texts: &[(&str, &StringTable)]) -> Result<(), StageError> {
        let rows = columns.first().map_or(0, Array::len);
        let strings: Vec<Option<&StringTable>> = self
            .schema
            .fields()
            .iter()
            .map(|field| texts.iter().find(|(name, _)| name == field.name()).map(|(_, strings)| *strings))
            .collect();
        let position = |column: &ArrayRef, row: usize| {
            let positions = column.as_primitive::<UInt32Type>();
            (!positions.is_null(row)).then(|| positions.value(row))
        };
        let mut first = 0;
        while first < rows {
            let mut end = first;
            let mut bytes = 0;
            while end < rows && bytes <= TEXT_BYTES {
                for (column, strings) in columns.iter().zip(&strings) {
                    if let Some(strings) = strings
                        && let Some(position) = position(column, end)
                    {
                        bytes += strings.get(position as usize).len();
                    }
                }
                end += 1;
            }
            let piece = columns.iter().zip(&strings).map(|(column, strings)| match strings {
                Some(strings) => Arc::new(self::texts(strings, (first..end).map(|row| position(column, row)))),
                None => column.slice(first, end - first),
            });
            self.write(piece.collect())?;
            first = end;
        }
        Ok(())
    }

    /// Ends the file and brings it to disk.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(mut self) -> Result<heaplake_schemas::run::Table, StageError> {
        self.writer.finish().map_err(|error| failed(&self.path, error))?;
        let file = self.writer.inner();
        file.sync_all().map_err(|error| StageError::io(&self.path, "write", error))?;
        let bytes = file.metadata().map_err(|error| StageError::io(&self.path, "examine", error))?.len();
        Ok(heaplake_schemas::run::Table { file: self.file.to_owned(), rows: self.rows, bytes })
    }
}

fn properties(schema: &SchemaRef, input_hash: &str) -> WriterProperties {
    let metadata = [
        (metadata::VERSION, HEAPLAKE_VERSION.to_owned()),
        (metadata::SCHEMA, SCHEMA_VERSION.to_string()),
        (metadata::INPUT_HASH, input_hash.to_owned()),
    ];
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_created_by(format!("heaplake {HEAPLAKE_VERSION}"))
        .set_key_value_metadata(Some(metadata.map(|(key, value)| KeyValue::new(key.to_owned(), value)).to_vec()));
    for field in schema.fields().iter().filter(|field| is_integer(field.data_type())) {
        let column = ColumnPath::from(field.name().as_str());
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

fn is_integer(data_type: &DataType) -> bool {
    matches!(data_type, DataType::UInt32 | DataType::UInt64 | DataType::Int32)
}

fn failed(path: &Path, error: ParquetError) -> StageError {
    let source = match error {
        // The system's own answer is what tells a full disk.
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        other => io::Error::other(other),
    };
    StageError::io(path, "write", source)
}

/// The next `rows` elements of a scratch column as an array without nulls.
///
/// # Errors
/// [`StageError::Io`] or [`StageError::Scratch`].
pub fn numbers<T, P>(column: &mut ColumnReader<T>, rows: usize) -> Result<ArrayRef, StageError>
where
    T: Pod,
    P: ArrowPrimitiveType,
    P::Native: Pod,
{
    let mut values = vec![<P::Native as bytemuck::Zeroable>::zeroed(); rows];
    // Ids and the numbers inside them have the same layout.
    column.read_into(bytemuck::cast_slice_mut(&mut values))?;
    Ok(Arc::new(PrimitiveArray::<P>::from_iter_values(values)))
}

/// Texts of strings by position, one for each of `positions`; none where there is no position.
#[must_use]
pub fn texts(strings: &StringTable, positions: impl ExactSizeIterator<Item = Option<u32>>) -> StringArray {
    let mut texts = StringBuilder::with_capacity(positions.len(), positions.len() * 16);
    for position in positions {
        match position {
            Some(position) => texts.append_value(strings.text(position as usize)),
            None => texts.append_null(),
        }
    }
    texts.finish()
}
