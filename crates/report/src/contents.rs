//! Shared by the pages of comparisons, trends and fleets: reads descriptions and tables, writes the page.

use crate::subjects::{Table, check_version};
use crate::texts::Texts;
use heaplake_kit::{Context, StageError, fs};
use heaplake_lake::output_file;
use heaplake_lake::reader::damaged;
use heaplake_schemas::run;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Maximum remarks shown.
const REMARKS: usize = 50;

/// Reads a description, such as `diff.json`; `version` returns the versions of its tables and of heaplake.
pub(crate) fn description<T: DeserializeOwned>(
    path: &Path,
    version: impl Fn(&T) -> (u32, &str),
) -> Result<T, StageError> {
    let bytes = fs::read_at_most(path, fs::LIST_BYTES).map_err(|error| StageError::io(path, "read", error))?;
    let description: T = serde_json::from_slice(&bytes).map_err(|error| damaged(path, error))?;
    let (schema, heaplake) = version(&description);
    check_version(path, schema, heaplake)?;
    Ok(description)
}

/// Writes the page with a document, made from the files in `folder`, to the file `to`.
pub(crate) fn write(
    document: &impl Serialize,
    folder: &Path,
    to: &Path,
    page: impl Fn(&str) -> String,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let json = serde_json::to_string(document).map_err(|error| damaged(folder, error))?;
    output_file::write(to, page(&json).as_bytes(), context.cancel)
}

/// Returns the texts of the first remarks.
pub(crate) fn remarks(remarks: &[String], texts: &mut Texts) -> Vec<u32> {
    remarks.iter().take(REMARKS).map(|remark| texts.add_within(remark, 1000)).collect()
}

/// Origin of a comparison or trend.
#[derive(Serialize)]
pub(crate) struct Origin {
    format: u32,
    version: u32,
    remarks: Vec<u32>,
    tables: Vec<(u32, u64, u64)>,
    place: u32,
}

impl Origin {
    /// Origin of the tables in `folder`.
    pub(crate) fn of(
        (format, version): (&str, &str),
        remarks: &[String],
        tables: &[run::Table],
        folder: &Path,
        texts: &mut Texts,
    ) -> Self {
        Self {
            format: texts.add(format),
            version: texts.add(version),
            remarks: self::remarks(remarks, texts),
            tables: tables.iter().map(|table| (texts.add(&table.file), table.rows, table.bytes)).collect(),
            place: texts.add_within(&folder.display().to_string(), 1000),
        }
    }
}

/// Tables of a comparison or trend; a missing one is null.
#[derive(Serialize)]
pub(crate) struct Tables<R> {
    pub classes: Option<Table<R>>,
    chains: Option<Table<R>>,
    owners: Option<Table<R>>,
    findings: Option<Table<R>>,
    duplicates: Option<Table<R>>,
    pub types: Option<Table<R>>,
    functions: Option<Table<R>>,
    lifetimes: Option<Table<R>>,
}

impl<R> Tables<R> {
    /// Reads the tables `of`, in the order of the schemas, with at most `most` subjects of each.
    pub(crate) fn read<T>(
        of: &'static [T],
        most: [u64; 8],
        mut read: impl FnMut(&'static T, u64) -> Result<Option<Table<R>>, StageError>,
    ) -> Result<Self, StageError> {
        let mut read = |at: usize| of.get(at).map_or(Ok(None), |table| read(table, most[at]));
        // Tables read first get the longest texts.
        let findings = read(4)?;
        let [classes, chains, owners, duplicates] = [read(0)?, read(1)?, read(2)?, read(3)?];
        let [types, functions, lifetimes] = [read(5)?, read(6)?, read(7)?];
        Ok(Self { classes, chains, owners, findings, duplicates, types, functions, lifetimes })
    }
}
