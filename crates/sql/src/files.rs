//! Table files for the engine. Their bytes are checked before it decodes them ([`heaplake_lake::checked`]), and files
//! of up to 64 MiB are compared with `run.json` as a whole ([`heaplake_lake::listed`]). Of longer ones only the length
//! is compared: a checksum would take a pass over each.
//!
//! A file is opened when it is read, unless [`crate::view`] holds it.

use bytes::Bytes;
use datafusion::error::{DataFusionError, Result};
use futures::FutureExt;
use futures::future::BoxFuture;
use heaplake_lake::checked::{Checked, Opened};
use heaplake_lake::entry::TableEntry;
use heaplake_lake::listed::Listed;
use heaplake_lake::packs::Pack;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaData;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::block_in_place;

/// A run was dropped or replaced after its description was read.
#[derive(Debug)]
pub(crate) struct Changed(String);

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Changed {}

/// A file that cannot be read, or that is not the one in `run.json`.
#[derive(Debug)]
struct Damaged(String);

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Damaged {}

/// Opens a local file of the length in `run.json`. One that is missing, a link or of another length is [`Changed`].
pub(crate) fn open(path: &Path, listed: &TableEntry) -> Result<Listed> {
    let problem = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
    Listed::open(path, listed).map_err(|error| match error.kind() {
        // A run that was replaced meanwhile has other tables.
        io::ErrorKind::NotFound | io::ErrorKind::InvalidData => {
            DataFusionError::External(Box::new(Changed(problem(&error))))
        }
        kind => DataFusionError::IoError(io::Error::new(kind, problem(&error))),
    })
}

/// Source of a file's bytes. An object of a store is trusted to be the one in `run.json`: nobody writes to it, and a
/// check would take a request for each.
pub(crate) enum Source {
    File(Arc<Listed>),
    Object(Arc<dyn ObjectStore>, ObjectPath),
    Pack(Arc<Pack>),
}

/// Reader of a file.
pub(crate) struct Reading {
    path: PathBuf,
    bytes: u64,
    source: Source,
    checked: Option<Arc<Checked>>,
}

impl Reading {
    /// A reader of a table with a length in bytes.
    pub(crate) fn new(path: PathBuf, bytes: u64, source: Source) -> Self {
        Self { path, bytes, source, checked: None }
    }

    async fn bytes(&self, range: Range<u64>) -> ParquetResult<Bytes> {
        let whole = self.bytes;
        if range.start > range.end || range.end > whole {
            return Err(self.damaged(&format!("expected bytes {range:?}, found a file of {whole}")));
        }
        let length = range.end - range.start;
        let bytes = match &self.source {
            Source::File(file) => {
                let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
                let read = file.checked().and_then(|file| file.read_exact_at(&mut bytes, range.start));
                read.map_err(|error| self.damaged(&error.to_string()))?;
                bytes.into()
            }
            Source::Object(store, location) => {
                let read = store.get_range(location, range.clone()).await;
                read.map_err(|error| ParquetError::External(Box::new(error)))?
            }
            Source::Pack(pack) => return Ok(self.of_pack(pack, &[range])?.remove(0)),
        };
        self.check(range.start, &bytes)?;
        Ok(bytes)
    }

    /// Parts of a pack, which checks its pages itself, and fetches those of a store at once.
    fn of_pack(&self, pack: &Pack, ranges: &[Range<u64>]) -> ParquetResult<Vec<Bytes>> {
        // A store is asked by a runtime of its own.
        block_in_place(|| pack.parts(ranges)).map_err(|problem| match problem {
            ParquetError::External(_) => problem,
            damage => self.damaged(&damage.to_string()),
        })
    }

    fn check(&self, start: u64, bytes: &Bytes) -> ParquetResult<()> {
        match &self.checked {
            Some(checked) => checked.check(start, bytes).map_err(|problem| self.damaged(&problem)),
            None => Ok(()),
        }
    }

    fn damaged(&self, problem: &str) -> ParquetError {
        ParquetError::External(Box::new(Damaged(format!("{}: {problem}", self.path.display()))))
    }

    /// Reads the end of the file.
    async fn opened(&mut self) -> ParquetResult<Arc<Checked>> {
        if let Some(checked) = &self.checked {
            return Ok(Arc::clone(checked));
        }
        let length = self.bytes;
        let mut wanted = Checked::first_bytes(length);
        loop {
            let tail = self.bytes(length - wanted..length).await?;
            match Checked::open(&tail, length).map_err(|problem| self.damaged(&problem))? {
                Opened::Needs(more) => wanted = more,
                Opened::Done(checked) => return Ok(Arc::clone(self.checked.insert(Arc::new(checked)))),
            }
        }
    }
}

impl AsyncFileReader for Reading {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        self.bytes(range).boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        async move {
            if let Source::Pack(pack) = &self.source {
                return self.of_pack(pack, &ranges);
            }
            let Source::Object(store, location) = &self.source else {
                let mut parts = Vec::with_capacity(ranges.len());
                for range in ranges {
                    parts.push(self.bytes(range).await?);
                }
                return Ok(parts);
            };
            let read = store.get_ranges(location, &ranges).await;
            let parts = read.map_err(|error| ParquetError::External(Box::new(error)))?;
            for (range, part) in ranges.iter().zip(&parts) {
                self.check(range.start, part)?;
            }
            Ok(parts)
        }
        .boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        _: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        async move {
            match &self.source {
                Source::Pack(pack) => Ok(Arc::clone(pack.metadata())),
                _ => Ok(Arc::clone(self.opened().await?.metadata())),
            }
        }
        .boxed()
    }
}

/// Whether an error comes from a file of the lake.
pub(crate) fn is_damaged(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    error.is::<Damaged>() || error.is::<object_store::Error>()
}

/// Whether an error comes from a run that was dropped or replaced meanwhile.
pub(crate) fn is_changed(error: &DataFusionError) -> bool {
    match error {
        DataFusionError::External(error) => error.is::<Changed>(),
        DataFusionError::ParquetError(error) => match &**error {
            ParquetError::External(error) => error.is::<Changed>(),
            _ => false,
        },
        DataFusionError::ObjectStore(error) => matches!(**error, object_store::Error::NotFound { .. }),
        _ => false,
    }
}
