//! Streaming writers of rows: a table for people, CSV, JSON or Parquet.

use crate::error::SqlError;
use crate::rows;
use crate::writer::{Writer, unwritten};
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::io::Write;
use std::sync::Arc;

/// Format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table for people: aligned columns, long values truncated, only the first rows.
    Table,
    /// Comma separated values with a header; nulls are empty, nested values are texts.
    Csv,
    /// An array of objects, one on a line; nulls are written.
    Json,
    /// A Parquet file, compressed with zstd.
    Parquet,
}

/// Rows converted to JSON at once.
const AT_ONCE: usize = 256;

/// Creates the writer of a format. `most` limits the rows of a table for people; 0 means no limit.
pub fn writer<'a>(format: Format, most: usize, to: &'a mut (dyn Write + Send)) -> Box<dyn Writer + 'a> {
    match format {
        Format::Table => Box::new(rows::Table::new(most, to)),
        Format::Csv => Box::new(Csv { to: arrow::csv::Writer::new(to), schema: None }),
        Format::Json => Box::new(Json { to, rows: 0 }),
        Format::Parquet => Box::new(Parquet { to: Some(to), writer: None }),
    }
}

struct Csv<'a> {
    to: arrow::csv::Writer<&'a mut (dyn Write + Send)>,
    /// The columns, until the header is written.
    schema: Option<SchemaRef>,
}

impl Writer for Csv<'_> {
    fn begin(&mut self, schema: &SchemaRef) -> Result<(), SqlError> {
        self.schema = Some(Arc::clone(schema));
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<bool, SqlError> {
        self.schema = None;
        self.to.write(&flat(batch)?).map_err(failed)?;
        Ok(true)
    }

    fn end(&mut self) -> Result<(), SqlError> {
        // The writer makes the header with the first rows, so an empty batch forces it.
        let empty = self.schema.take().map(RecordBatch::new_empty);
        empty.map_or(Ok(()), |empty| self.to.write(&flat(&empty)?).map_err(failed))
    }
}

struct Json<'a> {
    to: &'a mut (dyn Write + Send),
    rows: u64,
}

impl Writer for Json<'_> {
    fn begin(&mut self, _: &SchemaRef) -> Result<(), SqlError> {
        self.to.write_all(b"[").map_err(|error| unwritten(&error))
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<bool, SqlError> {
        // Texts of a batch may be long, so only a few rows are held twice.
        for from in (0..batch.num_rows()).step_by(AT_ONCE) {
            self.write_few(&batch.slice(from, AT_ONCE.min(batch.num_rows() - from)))?;
        }
        Ok(true)
    }

    fn end(&mut self) -> Result<(), SqlError> {
        let end: &[u8] = if self.rows == 0 { b"]\n" } else { b"\n]\n" };
        self.to.write_all(end).and_then(|()| self.to.flush()).map_err(|error| unwritten(&error))
    }
}

impl Json<'_> {
    fn write_few(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        let mut lines = Vec::new();
        let mut writer = arrow::json::WriterBuilder::new()
            .with_explicit_nulls(true)
            .build::<_, arrow::json::writer::LineDelimited>(&mut lines);
        writer.write(batch).and_then(|()| writer.finish()).map_err(failed)?;
        drop(writer);
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let between: &[u8] = if self.rows == 0 { b"\n" } else { b",\n" };
            self.to.write_all(between).and_then(|()| self.to.write_all(line)).map_err(|error| unwritten(&error))?;
            self.rows += 1;
        }
        Ok(())
    }
}

struct Parquet<'a> {
    to: Option<&'a mut (dyn Write + Send)>,
    writer: Option<ArrowWriter<&'a mut (dyn Write + Send)>>,
}

impl Writer for Parquet<'_> {
    fn begin(&mut self, schema: &SchemaRef) -> Result<(), SqlError> {
        let fields = schema.fields().iter().map(|field| Field::clone(field).with_data_type(stored(field.data_type())));
        let level = ZstdLevel::try_new(3).map_err(|error| failed(error.into()))?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
        if let Some(to) = self.to.take() {
            let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
            let writer = ArrowWriter::try_new(to, schema, Some(properties)).map_err(|error| failed(error.into()))?;
            self.writer = Some(writer);
        }
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<bool, SqlError> {
        let batch = with_columns(batch, |_, column| cast(column, &stored(column.data_type())))?;
        if let Some(writer) = &mut self.writer {
            writer.write(&batch).map_err(|error| failed(error.into()))?;
        }
        Ok(true)
    }

    fn end(&mut self) -> Result<(), SqlError> {
        self.writer.take().map_or(Ok(()), |writer| writer.close().map(drop).map_err(|error| failed(error.into())))
    }
}

/// Type that every reader of Parquet knows: plain texts instead of views or dictionaries.
fn stored(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::Dictionary(_, value) => stored(value),
        other => other.clone(),
    }
}

/// Converts nested values to texts.
fn flat(batch: &RecordBatch) -> Result<RecordBatch, SqlError> {
    with_columns(batch, |_, column| {
        if !column.data_type().is_nested() {
            return Ok(Arc::clone(column));
        }
        let options = FormatOptions::default();
        let format = ArrayFormatter::try_new(column, &options)?;
        let texts = (0..column.len()).map(|row| (!column.is_null(row)).then(|| format.value(row).to_string()));
        Ok(Arc::new(texts.collect::<StringArray>()))
    })
}

fn with_columns(
    batch: &RecordBatch,
    change: impl Fn(usize, &ArrayRef) -> Result<ArrayRef, ArrowError>,
) -> Result<RecordBatch, SqlError> {
    let columns = batch.columns().iter().enumerate().map(|(at, column)| change(at, column));
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let fields = batch.schema();
    let fields = fields.fields().iter().zip(&columns);
    let fields = fields.map(|(field, column)| Field::clone(field).with_data_type(column.data_type().clone()));
    RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), columns).map_err(failed)
}

fn failed(error: ArrowError) -> SqlError {
    datafusion::error::DataFusionError::from(error).into()
}
