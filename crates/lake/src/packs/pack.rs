//! An open pack.

use super::signed::{self, Originals};
use crate::checked::Checked;
use crate::parquet_file::ParquetFile;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use bytes::Bytes;
use heaplake_kit::fs::File;
use heaplake_kit::storage::{self, Object, Readahead, Stored};
use heaplake_schemas::metadata;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use parquet::file::reader::{ChunkReader, Length};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Beginning of a file of Parquet.
const MAGIC: [u8; 4] = *b"PAR1";
/// A pack of at most this size in a store is read as a whole, by one request.
const SMALL: u64 = 1 << 20;

/// A run in a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    /// Name of the run.
    pub snapshot: String,
    /// Seal of its description when it was packed.
    pub seal: String,
    /// Rows.
    pub rows: u64,
}

/// Index of a pack, an entry of the metadata of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Content {
    /// File name of the table in a run.
    pub table: String,
    /// The runs, by name.
    pub runs: Vec<Member>,
    /// Types of unsigned columns.
    pub unsigned: Originals,
}

/// An open pack.
pub struct Pack {
    path: PathBuf,
    file: ParquetFile,
    metadata: ArrowReaderMetadata,
    /// File name of the table in a run.
    table: String,
    members: Vec<Member>,
    /// First row of each member.
    starts: Vec<u64>,
    /// The schema with the original types.
    schema: SchemaRef,
}

/// The rows of a run in a pack.
#[derive(Clone, Debug)]
pub struct Slice {
    pack: Arc<Pack>,
    rows: Range<u64>,
}

impl fmt::Debug for Pack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pack").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Pack {
    /// Opens a local pack.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] for a damaged one.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::of(path, Stored::File(File::open_itself(path)?))
    }

    /// As [`Self::open`], for a pack in a store.
    pub(crate) fn in_store(path: &Path, object: Object) -> io::Result<Self> {
        let stored = match object.bytes {
            0..=SMALL => Stored::Whole(io::Cursor::new(storage::store()?.read(&object.url, SMALL)?.1)),
            _ => Stored::Object(Readahead::new(object)),
        };
        Self::of(path, stored)
    }

    fn of(path: &Path, stored: Stored) -> io::Result<Self> {
        let damaged = |problem: String| {
            let problem = problem.replace(['\n', '\r'], " ");
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: {problem}", path.display()))
        };
        let is_local = matches!(stored, Stored::File(_));
        let opened = ParquetFile::new(stored).map(|file| (file.clone(), file.checked()));
        let (file, checked) = match opened {
            Ok((file, checked)) => {
                checked.map_err(|error| file.failure().unwrap_or_else(|| damaged(error.to_string())))?
            }
            Err(error) => return Err(damaged(error.to_string())),
        };
        // No page has these bytes.
        if is_local && file.get_bytes(0, MAGIC.len()).is_ok_and(|begin| *begin != MAGIC[..]) {
            return Err(damaged("expected PAR1 at the beginning".to_owned()));
        }
        let (content, metadata) = described(&checked).map_err(damaged)?;
        let mut starts = Vec::with_capacity(content.runs.len());
        let mut rows = 0_u64;
        for member in &content.runs {
            starts.push(rows);
            rows = rows.saturating_add(member.rows);
        }
        let there = u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
        if rows != there || !content.runs.is_sorted_by(|one, next| one.snapshot < next.snapshot) {
            return Err(damaged(format!("expected the rows of its runs, {rows}, found {there} rows")));
        }
        let schema = signed::original(metadata.schema(), &content.unsigned);
        Ok(Self { path: path.to_owned(), file, metadata, table: content.table, members: content.runs, starts, schema })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// File name of its table in a run.
    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    /// Its columns, with their original types.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Its runs.
    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// The rows of a run, if it is in the pack with this seal.
    pub(crate) fn slice(self: &Arc<Self>, snapshot: &str, seal: &str) -> Option<Slice> {
        let at = self.members.binary_search_by(|member| member.snapshot.as_str().cmp(snapshot)).ok()?;
        let member = self.members.get(at).filter(|member| member.seal == seal)?;
        let first = self.starts[at];
        Some(Slice { pack: Arc::clone(self), rows: first..first + member.rows })
    }

    /// Converts rows of the pack to the types of the tables of runs.
    ///
    /// # Errors
    /// Of a number that does not fit: the pack is damaged.
    pub fn restored(&self, rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let mut fields = Vec::with_capacity(rows.num_columns());
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(rows.num_columns());
        let schema = rows.schema();
        for (field, column) in schema.fields().iter().zip(rows.columns()) {
            let original = self.schema.field_with_name(field.name())?;
            columns.push(signed::converted(column, original.data_type())?);
            fields.push(original.clone());
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
    }

    /// Footer and indexes.
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        self.metadata.metadata()
    }

    /// Parts of the file; the pages in them are checked. In a store, they are fetched at once.
    ///
    /// # Errors
    /// Of reading, or of a page with another checksum.
    pub fn parts(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ParquetError> {
        self.file.parts(ranges)
    }

    /// Bytes of the whole file.
    pub fn length(&self) -> u64 {
        self.file.len()
    }

    /// The file and its metadata, for a reader. Pages are checked when they are read.
    pub(crate) fn reading(&self) -> (ParquetFile, ArrowReaderMetadata) {
        (self.file.anew(), self.metadata.clone())
    }
}

impl Slice {
    /// The pack.
    pub fn pack(&self) -> &Arc<Pack> {
        &self.pack
    }

    /// The rows of the run, in the pack.
    pub fn rows(&self) -> Range<u64> {
        self.rows.clone()
    }
}

/// Parses the index in the footer.
fn described(checked: &Arc<Checked>) -> Result<(Content, ArrowReaderMetadata), String> {
    let values = checked.metadata().file_metadata().key_value_metadata();
    let text = values.and_then(|values| values.iter().find(|entry| entry.key == metadata::RUNS)?.value.as_deref());
    let text = text.ok_or_else(|| format!("expected a pack of runs, found no {}", metadata::RUNS))?;
    let content = serde_json::from_str(text).map_err(|error| format!("{}: {error}", metadata::RUNS))?;
    let options =
        ArrowReaderOptions::new().with_offset_index_policy(PageIndexPolicy::Optional).with_skip_arrow_metadata(true);
    let metadata = ArrowReaderMetadata::try_new(Arc::clone(checked.metadata()), options);
    Ok((content, metadata.map_err(|error| error.to_string())?))
}
