//! An open table that several threads read, each with a reader of its own.

use crate::guarded::guarded;
use crate::reader::{Parts, Reader, damaged};
use crate::zone_map;
use heaplake_kit::StageError;
use std::ops::Range;
use std::path::Path;

/// An open table.
pub struct SharedTable(Parts);

impl SharedTable {
    /// Opens a table.
    pub fn open(path: &Path) -> Result<Self, StageError> {
        Ok(Self(Reader::open(path)?.parts()))
    }

    /// Makes batches return each distinct text of these columns once
    /// ([`Batch::distinct`](crate::reader::Batch::distinct)). Has no effect in a pack.
    ///
    /// # Errors
    /// [`StageError::Table`] if one is no column of texts.
    pub fn with_distinct(mut self, columns: &[&str]) -> Result<Self, StageError> {
        if !columns.is_empty() && self.0.pack.is_none() {
            let metadata = guarded(&self.0.path, || zone_map::with_dictionaries(&self.0.metadata, columns))?;
            self.0.metadata = metadata.map_err(|error| damaged(&self.0.path, error))?;
        }
        Ok(self)
    }

    /// A reader of all rows. Costs no access to the file.
    pub fn reader(&self) -> Reader {
        Reader::of_parts(self.0.clone())
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.0.rows.end - self.0.rows.start
    }

    /// True if the table has this column.
    pub fn has(&self, column: &str) -> bool {
        self.0.metadata.schema().column_with_name(column).is_some()
    }

    /// The rows of each row group; all rows in a pack.
    pub fn row_groups(&self) -> Vec<Range<u64>> {
        match self.0.pack.is_some() {
            true => std::iter::once(0..self.rows()).collect(),
            false => zone_map::rows(self.0.metadata.metadata()),
        }
    }

    /// Least and greatest number of a column in a row group, and the number of its nulls, as the statistics have them;
    /// `None` if unknown.
    pub fn least_and_most(&self, group: usize, column: &str) -> Option<(i128, i128, u64)> {
        if self.0.pack.is_some() { None } else { zone_map::least_and_most(&self.0.metadata, group, column) }
    }
}
