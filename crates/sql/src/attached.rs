//! Files of users as views, beside those of a lake: tables of hosts or teams.
//!
//! A file is opened once and read anew by each statement, as a stream: one that is removed or replaced meanwhile is read
//! to its end, and one that becomes shorter is an error. The names of its columns become lower case, as the engine reads
//! them in statements.

use crate::error::{SqlError, Unreadable};
use arrow::array::RecordBatch;
use arrow::csv::ReaderBuilder;
use arrow::csv::reader::Format as TextFormat;
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SessionContext;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::stream;
use heaplake_kit::fs::File;
use heaplake_kit::storage;
use heaplake_kit::{memory_limit, panics};
use heaplake_lake::parquet_file::ParquetFile;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// Rows of a text file that determine the types of its columns.
const INFERRED: usize = 100_000;

/// A file and the name of its view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Name of the view: lower-case letters, digits and `_`.
    pub view: String,
    /// The file: CSV with a header, tab-separated values, or Parquet, by its extension.
    pub file: PathBuf,
}

impl FromStr for Attached {
    type Err = String;

    /// Parses `FILE` or `NAME=FILE`. Without a name, that of the file without its extension becomes one.
    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.split_once('=').filter(|(name, _)| is_name(name));
        let file = PathBuf::from(named.map_or(text, |(_, file)| file));
        let view = named.map_or_else(|| name_of(&file), |(name, _)| name.to_lowercase());
        match Format::of(&file) {
            _ if storage::is_url(&file) => Err("only a file of this machine can be attached".to_owned()),
            None => Err("expected a file that ends with .csv, .tsv or .parquet".to_owned()),
            Some(_) if !is_name(&view) => Err("the file has no name: give one with NAME=FILE".to_owned()),
            Some(_) => Ok(Self { view, file }),
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|each| each.is_ascii_alphanumeric() || each == '_')
}

fn name_of(file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name: String = stem.chars().map(|each| if each.is_ascii_alphanumeric() { each } else { '_' }).collect();
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// Format of a file, with the separator of its values.
#[derive(Clone, Copy, Debug)]
enum Format {
    Text(u8),
    Parquet,
}

impl Format {
    fn of(file: &Path) -> Option<Self> {
        match &*file.extension()?.to_str()?.to_lowercase() {
            "csv" => Some(Self::Text(b',')),
            "tsv" => Some(Self::Text(b'\t')),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }
}

/// Registers the view of a file. A name that a view of the lake has is an error, and so is an unreadable file.
pub(crate) fn register(context: &SessionContext, Attached { view, file }: &Attached) -> Result<(), SqlError> {
    if context.table_exist(view.as_str())? {
        let cause = format!("{}: there is already a view {view}", file.display());
        return Err(SqlError::query(cause, "give another name with --attach NAME=FILE"));
    }
    let rows = Rows::open(file).map_err(|problem| DataFusionError::External(Box::new(problem)))?;
    let schema = Arc::clone(&rows.schema);
    context.register_table(view.as_str(), Arc::new(StreamingTable::try_new(schema, vec![Arc::new(rows)])?))?;
    Ok(())
}

/// An open file.
#[derive(Debug)]
struct Rows {
    path: PathBuf,
    format: Format,
    file: Arc<File>,
    length: u64,
    schema: SchemaRef,
}

/// Batches of rows, each possibly an error.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, Unreadable>> + Send>;

impl Rows {
    fn open(path: &Path) -> Result<Self, Unreadable> {
        let problem = |problem: &dyn fmt::Display| Unreadable(format!("{}: {problem}", path.display()));
        let file = File::open(path).map_err(|error| problem(&error))?;
        let length = file.metadata().map_err(|error| problem(&error))?.len();
        let (format, schema) = (Format::of(path).unwrap_or(Format::Parquet), Arc::new(Schema::empty()));
        let rows = Self { path: path.to_owned(), format, file: Arc::new(file), length, schema };
        let schema = rows.guarded(|| rows.infer())?.map_err(|error| problem(&error))?;
        if schema.fields().is_empty() {
            return Err(problem(&"expected columns, found none"));
        }
        Ok(Self { schema: Arc::new(named(&schema).map_err(|error| problem(&error))?), ..rows })
    }

    /// Types and names of the columns as the file has them.
    fn infer(&self) -> Result<Schema, String> {
        match self.format {
            Format::Text(delimiter) => {
                let format = TextFormat::default().with_header(true).with_delimiter(delimiter);
                let (schema, _) =
                    format.infer_schema(self.bytes(), Some(INFERRED)).map_err(|error| error.to_string())?;
                Ok(schema)
            }
            Format::Parquet => self.parquet().map(|reader| reader.schema().as_ref().clone()),
        }
    }

    fn bytes(&self) -> Bytes {
        Bytes { file: Arc::clone(&self.file), at: 0, length: self.length }
    }

    fn parquet(&self) -> Result<ParquetRecordBatchReaderBuilder<ParquetFile>, String> {
        let file = ParquetFile::of_file(Arc::clone(&self.file), self.length);
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| error.to_string())
    }

    /// Reads the file from its start, `rows` at a time.
    fn batches(&self, rows: usize) -> Result<Batches, String> {
        let schema = Arc::clone(&self.schema);
        let path = self.path.clone();
        let problem = move |error: String| Unreadable(format!("{}: {error}", path.display()));
        Ok(match self.format {
            Format::Text(delimiter) => {
                let builder = ReaderBuilder::new(schema).with_header(true).with_delimiter(delimiter);
                let reader = builder.with_batch_size(rows).build(self.bytes()).map_err(|error| error.to_string())?;
                Box::new(reader.map(move |batch| batch.map_err(|error| problem(error.to_string()))))
            }
            Format::Parquet => {
                let reader = self.parquet()?.with_batch_size(rows).build().map_err(|error| error.to_string())?;
                let renamed =
                    move |batch: RecordBatch| RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec());
                Box::new(reader.map(move |batch| batch.and_then(&renamed).map_err(|error| problem(error.to_string()))))
            }
        })
    }

    /// Turns a panic of a library into an error.
    fn guarded<T>(&self, work: impl FnOnce() -> T) -> Result<T, Unreadable> {
        panics::held(work)
            .map_err(|panic| Unreadable(format!("{}: the file is damaged: {}", self.path.display(), panic.message())))
    }
}

impl PartitionStream for Rows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = context.session_config().batch_size();
        let opened = self.guarded(|| self.batches(rows));
        let path = self.path.clone();
        let mut batches = match opened {
            Ok(Ok(batches)) => batches,
            Ok(Err(error)) => once(Unreadable(format!("{}: {error}", path.display()))),
            Err(problem) => once(problem),
        };
        let next = move || {
            let batch = panics::held(|| batches.next());
            batch.unwrap_or_else(|panic| {
                let problem = Unreadable(format!("{}: the file is damaged: {}", path.display(), panic.message()));
                batches = Box::new(std::iter::empty());
                Some(Err(problem))
            })
        };
        let found =
            std::iter::from_fn(next).map(|batch| batch.map_err(|error| DataFusionError::External(Box::new(error))));
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), stream::iter(found)))
    }
}

fn once(problem: Unreadable) -> Batches {
    Box::new(std::iter::once(Err(problem)))
}

/// Names in lower case, and a name for columns without one. Columns without a value in the first rows are texts.
fn named(schema: &Schema) -> Result<Schema, String> {
    let mut names = BTreeSet::new();
    let fields = schema.fields().iter().enumerate().map(|(at, field)| {
        let name = match field.name().trim() {
            "" => format!("column{}", at + 1),
            name => name.to_ascii_lowercase(),
        };
        if !names.insert(name.clone()) {
            return Err(format!("two columns have the name {name}"));
        }
        let kind = if *field.data_type() == DataType::Null { &DataType::Utf8 } else { field.data_type() };
        Ok(Field::new(name, kind.clone(), true))
    });
    Ok(Schema::new(fields.collect::<Result<Fields, String>>()?))
}

/// The bytes of a file, as many as it had when it was opened.
struct Bytes {
    file: Arc<File>,
    at: u64,
    length: u64,
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if memory_limit::is_exceeded() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let count = usize::try_from(self.length - self.at).unwrap_or(usize::MAX).min(buffer.len());
        self.file.read_exact_at(&mut buffer[..count], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(text: &str) -> Result<String, String> {
        text.parse().map(|attached: Attached| attached.view)
    }

    #[test]
    fn names_of_views() {
        assert_eq!(view("Hosts.csv").unwrap(), "hosts");
        assert_eq!(view("a/b-c.2026.tsv").unwrap(), "b_c_2026");
        assert_eq!(view("7.parquet").unwrap(), "_7");
        assert_eq!(view("Teams=a=b.CSV").unwrap(), "teams");
        // The text before the sign is no name.
        assert_eq!(view("a/b=c.csv").unwrap(), "b_c");
        assert!(view("hosts.json").unwrap_err().contains(".csv"));
        assert!(view("s3://bucket/hosts.csv").unwrap_err().contains("this machine"));
        assert!(view(".csv").is_err() && view("").is_err());
    }

    #[test]
    fn a_file_is_read_as_it_was_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "ID,text\n1,\"a\nb\"\n2,c\n").unwrap();
        let rows = Rows::open(&path).unwrap();
        let count =
            || rows.batches(1).unwrap().map(|batch| batch.map(|batch| batch.num_rows())).sum::<Result<usize, _>>();
        assert_eq!(rows.schema.field(0).name(), "id");
        std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| io::Write::write_all(&mut file, b"3,d\n"))
            .unwrap();
        assert_eq!(count().unwrap(), 2);
        std::fs::File::options().write(true).open(&path).unwrap().set_len(10).unwrap();
        assert!(count().unwrap_err().to_string().contains("a.csv"));
        std::fs::remove_file(&path).unwrap();
        assert!(count().is_err());
    }
}
