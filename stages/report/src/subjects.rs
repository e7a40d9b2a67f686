//! The first subjects of a table in long form, as the pages of comparisons and trends show them.
//!
//! A subject has a row for each measure (and step) of the table, one after the other, in a fixed order: see
//! [`heaplake_schemas::diff`]. What is the same for all of them is read from the first row alone, so that a text is
//! decoded once for each subject.

use crate::texts::Texts;
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::{Batch, Reader, damaged, value};
use heaplake_schemas::SCHEMA_VERSION;
use heaplake_schemas::diff::DiffTable;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Most bytes of a sentence: the message of a finding, a chain.
const SENTENCE: usize = 600;

/// A table on a page.
#[derive(Serialize)]
pub(crate) struct Table<T> {
    /// The measure that subjects are ranked by, and the other measures.
    measures: &'static [&'static str],
    /// Names of the texts that say what a subject is.
    keys: &'static [&'static str],
    /// Number of all subjects.
    of: u64,
    /// The first of them.
    pub rows: Vec<T>,
    /// The others together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
}

/// Sums of the subjects that are not shown: the means of each side.
#[derive(Default, Serialize)]
pub(crate) struct Rest {
    pub rows: u64,
    pub base: i64,
    pub target: i64,
}

/// What a subject is.
#[derive(Serialize)]
pub(crate) struct Subject {
    texts: Vec<Option<u32>>,
    signature: u32,
    /// As text: JavaScript numbers are exact only up to 2^53.
    fingerprint: u32,
    /// Fingerprint of the subject of whose growth this is a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    part_of: Option<u32>,
    /// Format of its runs, where the tables are of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<u32>,
}

/// On how many hosts of how many, or else runs, something is the case.
#[derive(Serialize)]
pub(crate) struct Hosts {
    on: i64,
    of: i64,
    /// Whether these are hosts.
    hosts: bool,
    /// Names of some.
    names: Option<u32>,
}

/// Refuses tables of older versions, which are in wide form.
///
/// # Errors
/// [`StageError::Refused`].
pub(crate) fn check_version(file: &Path, version: u32, made_by: &str) -> Result<(), StageError> {
    if version >= SCHEMA_VERSION {
        return Ok(());
    }
    let by = if made_by.is_empty() { "an older heaplake".to_owned() } else { format!("heaplake {made_by}") };
    let problem = format!("{}: made by {by}, with tables of version {version}", file.display());
    Err(StageError::Refused { problem, advice: "make it again with this heaplake".to_owned() })
}

/// A table whose subjects are read.
pub(crate) struct Subjects<'a> {
    path: PathBuf,
    table: &'a DiffTable,
    /// Rows of a subject.
    size: u64,
    of: u64,
    most: u64,
    /// Whether rows say of which format they are, and there are several.
    formats: bool,
}

impl<'a> Subjects<'a> {
    /// The first `most` subjects of the table in `file`, whose keys and measures are those of `table`; each has `steps`
    /// rows for each measure; with `formats`, each with its format. `None` if there is no such file.
    ///
    /// # Errors
    /// As [`Reader`].
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

    /// Makes a table of the subjects: `row` sees the first row of each, with these columns and those of [`Subject`].
    ///
    /// # Errors
    /// As [`Reader`], those of `row`, and [`StageError::Cancelled`].
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

    /// Reads numbers of all rows of the subjects: `take` gets a batch, the row in it, the number of the subject and that
    /// of the row among those of the subject.
    ///
    /// # Errors
    /// As [`Reader`], those of `take`, and [`StageError::Cancelled`].
    pub(crate) fn numbers(
        &self,
        columns: &[&str],
        context: &Context<'_>,
        take: impl FnMut(&Batch, usize, usize, usize) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        self.each(Reader::open(&self.path)?.from_row(0, self.most * self.size), columns, context, take)
    }

    /// The same of all other subjects.
    ///
    /// # Errors
    /// Likewise.
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

    /// What a subject is, from its first row.
    ///
    /// # Errors
    /// As [`Reader`].
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

/// A text of a row.
///
/// # Errors
/// As [`Reader`].
pub(crate) fn text(batch: &Batch, name: &str, at: usize, texts: &mut Texts) -> Result<Option<u32>, StageError> {
    Ok(value(batch.texts(name)?, at).map(|text| texts.add_within(text, SENTENCE)))
}

/// A fingerprint of a row, as text.
///
/// # Errors
/// As [`Reader`].
pub(crate) fn id(batch: &Batch, name: &str, at: usize, texts: &mut Texts) -> Result<Option<u32>, StageError> {
    Ok(value(batch.u64s(name)?, at).map(|id| texts.add(&format!("{id:016x}"))))
}

/// A whole number of a row.
///
/// # Errors
/// As [`Reader`].
pub(crate) fn whole(batch: &Batch, name: &str, at: usize) -> Result<Option<i64>, StageError> {
    Ok(value(batch.i64s(name)?, at))
}

/// A finite number of a row.
///
/// # Errors
/// As [`Reader`].
pub(crate) fn real(batch: &Batch, name: &str, at: usize) -> Result<Option<f64>, StageError> {
    Ok(value(batch.f64s(name)?, at).filter(|real| real.is_finite()))
}

impl Hosts {
    /// Hosts, or else runs, by the columns with their number and with their names; nothing if there are none.
    ///
    /// # Errors
    /// As [`Reader`].
    pub(crate) fn read(
        batch: &Batch,
        at: usize,
        [on, names]: [&str; 2],
        texts: &mut Texts,
    ) -> Result<Option<Self>, StageError> {
        let Some(on) = whole(batch, on, at)?.filter(|&on| on > 0) else { return Ok(None) };
        Ok(Some(Self { on, of: 0, hosts: false, names: text(batch, names, at, texts)? }))
    }

    /// Sets of how many, by the columns with the numbers of hosts and runs.
    ///
    /// # Errors
    /// As [`Reader`].
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
