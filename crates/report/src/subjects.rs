//! First subjects of a table in long form, for the pages of comparisons and trends.
//!
//! A subject has a row for each measure (and step) of the table, consecutive and in a fixed order: see
//! [`heaplake_schemas::diff`]. Shared columns are read from the first row only, so texts are decoded once per subject.

use crate::texts::Texts;
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::{Batch, Reader, damaged, value};
use heaplake_schemas::SCHEMA_VERSION;
use heaplake_schemas::diff::DiffTable;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Maximum bytes of a sentence: the message of a finding, or a chain.
const SENTENCE: usize = 600;

/// A table on a page.
#[derive(Serialize)]
pub(crate) struct Table<T> {
    /// Ranking measure, then the other measures.
    measures: &'static [&'static str],
    /// Key columns.
    keys: &'static [&'static str],
    /// Total number of subjects.
    of: u64,
    /// First subjects.
    pub rows: Vec<T>,
    /// Sums of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
}

/// Means of each side, summed over the subjects not shown.
#[derive(Default, Serialize)]
pub(crate) struct Rest {
    pub rows: u64,
    pub base: i64,
    pub target: i64,
}

/// Identity of a subject.
#[derive(Serialize)]
pub(crate) struct Subject {
    texts: Vec<Option<u32>>,
    signature: u32,
    /// As text: JavaScript numbers are exact only up to 2^53.
    fingerprint: u32,
    /// Fingerprint of the subject that represents this growth.
    #[serde(skip_serializing_if = "Option::is_none")]
    part_of: Option<u32>,
    /// Format of its runs, if there are several formats.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<u32>,
}

/// Number of affected hosts (or runs) out of a total.
#[derive(Serialize)]
pub(crate) struct Hosts {
    on: i64,
    of: i64,
    /// Whether these are hosts, not runs.
    hosts: bool,
    /// Some of their names.
    names: Option<u32>,
}

/// Refuses tables of older versions, which are in wide form.
pub(crate) fn check_version(file: &Path, version: u32, made_by: &str) -> Result<(), StageError> {
    if version >= SCHEMA_VERSION {
        return Ok(());
    }
    let by = if made_by.is_empty() { "an older heaplake".to_owned() } else { format!("heaplake {made_by}") };
    let problem = format!("{}: made by {by}, with tables of version {version}", file.display());
    Err(StageError::Refused { problem, advice: "make it again with this heaplake".to_owned() })
}

/// Reader of a table's subjects.
pub(crate) struct Subjects<'a> {
    path: PathBuf,
    table: &'a DiffTable,
    /// Rows per subject.
    size: u64,
    of: u64,
    most: u64,
    /// Whether there are several formats, named in each row.
    formats: bool,
}

impl<'a> Subjects<'a> {
    /// Opens the first `most` subjects of the table in `file`, with the keys and measures of `table`, `steps` rows per
    /// measure, and their format if `formats`. `None` if there is no such file.
    pub(crate) fn open(
        folder: &Path,
        file: &str,
        (table, steps): (&'a DiffTable, usize),
        (most, formats): (u64, bool),
    ) -> Result<Option<Self>, StageError> {
        let path = folder.join(file);
        let Some(reader) = Reader::open_if_present(&path)? else { return Ok(None) };
        let size = (table.measures.len() * steps.max(1)) as u64;
        if !reader.rows().is_multiple_of(size) {
            return Err(damaged(&path, format!("expected groups of {size} rows, found {} rows", reader.rows())));
        }
        let of = reader.rows() / size;
        Ok(Some(Self { path, table, size, of, most: most.min(of), formats }))
    }

    /// Builds a table of the subjects: `row` receives the first row of each, with `columns` and those of [`Subject`].
    pub(crate) fn table<T>(
        &self,
        columns: &[&str],
        context: &Context<'_>,
        mut row: impl FnMut(&Batch, usize) -> Result<T, StageError>,
    ) -> Result<Table<T>, StageError> {
        let firsts: Vec<u32> = (0..self.most).map(|at| (at * self.size) as u32).collect();
        let common = ["signature", "fingerprint", "part_of", "measure"];
        let format: &[&str] = if self.formats { &["format"] } else { &[] };
        let columns: Vec<&str> = self.table.keys.iter().chain(&common).chain(columns).chain(format).copied().collect();
        let mut batches = Reader::open(&self.path)?.only(&firsts)?.columns(&columns)?;
        let mut rows = Vec::with_capacity(firsts.len());
        while let Some(batch) = batches.batch()? {
            context.check()?;
            let measures = batch.texts("measure")?;
            for at in 0..batch.len() {
                let (expected, found) = (self.table.measures[0], measures.value(at));
                if found != expected {
                    return Err(damaged(&self.path, format!("expected the measure {expected}, found {found}")));
                }
                rows.push(row(&batch, at)?);
            }
        }
        Ok(Table { measures: self.table.measures, keys: self.table.keys, of: self.of, rows, rest: None })
    }

    /// Scans all rows of these subjects: `take` receives batch, row in the batch, subject number and row number within
    /// the subject.
    pub(crate) fn numbers(
        &self,
        columns: &[&str],
        context: &Context<'_>,
        take: impl FnMut(&Batch, usize, usize, usize) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        self.each(Reader::open(&self.path)?.from_row(0, self.most * self.size), columns, context, take)
    }

    /// Scans all rows of the other subjects, like [`Self::numbers`].
    pub(crate) fn others(
        &self,
        columns: &[&str],
        context: &Context<'_>,
        take: impl FnMut(&Batch, usize, usize, usize) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let reader = Reader::open(&self.path)?.from_row(self.most * self.size, (self.of - self.most) * self.size);
        self.each(reader, columns, context, take)
    }

    fn each(
        &self,
        reader: Reader,
        columns: &[&str],
        context: &Context<'_>,
        mut take: impl FnMut(&Batch, usize, usize, usize) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let mut batches = reader.columns(columns)?;
        let mut row = 0_usize;
        while let Some(batch) = batches.batch()? {
            context.check()?;
            for at in 0..batch.len() {
                take(&batch, at, row / self.size as usize, row % self.size as usize)?;
                row += 1;
            }
        }
        Ok(())
    }

    /// Reads the identity of a subject from its first row.
    pub(crate) fn subject(&self, batch: &Batch, at: usize, texts: &mut Texts) -> Result<Subject, StageError> {
        let keys = self.table.keys.iter().map(|key| text(batch, key, at, texts)).collect::<Result<_, _>>()?;
        Ok(Subject {
            texts: keys,
            signature: text(batch, "signature", at, texts)?.unwrap_or(0),
            fingerprint: id(batch, "fingerprint", at, texts)?.unwrap_or(0),
            part_of: id(batch, "part_of", at, texts)?,
            format: if self.formats { text(batch, "format", at, texts)? } else { None },
        })
    }
}

/// Reads a text.
pub(crate) fn text(batch: &Batch, name: &str, at: usize, texts: &mut Texts) -> Result<Option<u32>, StageError> {
    Ok(value(batch.texts(name)?, at).map(|text| texts.add_within(text, SENTENCE)))
}

/// Reads a fingerprint as text.
pub(crate) fn id(batch: &Batch, name: &str, at: usize, texts: &mut Texts) -> Result<Option<u32>, StageError> {
    Ok(value(batch.u64s(name)?, at).map(|id| texts.add(&format!("{id:016x}"))))
}

/// Reads a whole number.
pub(crate) fn whole(batch: &Batch, name: &str, at: usize) -> Result<Option<i64>, StageError> {
    Ok(value(batch.i64s(name)?, at))
}

/// Reads a finite number.
pub(crate) fn real(batch: &Batch, name: &str, at: usize) -> Result<Option<f64>, StageError> {
    Ok(value(batch.f64s(name)?, at).filter(|real| real.is_finite()))
}

impl Hosts {
    /// Reads the number and names of hosts (or runs); `None` if there are none.
    pub(crate) fn read(
        batch: &Batch,
        at: usize,
        [on, names]: [&str; 2],
        texts: &mut Texts,
    ) -> Result<Option<Self>, StageError> {
        let Some(on) = whole(batch, on, at)?.filter(|&on| on > 0) else { return Ok(None) };
        Ok(Some(Self { on, of: 0, hosts: false, names: text(batch, names, at, texts)? }))
    }

    /// Sets the total, from the columns of hosts or else of runs.
    pub(crate) fn among(&mut self, batch: &Batch, at: usize, [hosts, runs]: [&str; 2]) -> Result<(), StageError> {
        let hosts = whole(batch, hosts, at)?;
        self.hosts = hosts.is_some();
        self.of = hosts.or(whole(batch, runs, at)?).unwrap_or(0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_tables_are_refused_in_one_line() {
        assert!(check_version(Path::new("a/diff.json"), SCHEMA_VERSION, "1").is_ok());
        let refused = check_version(Path::new("a/diff.json"), 3, "0.1.0").map_err(|error| error.to_string());
        assert_eq!(refused, Err("a/diff.json: made by heaplake 0.1.0, with tables of version 3".to_owned()));
    }
}
