//! A trend as one HTML page.
//!
//! * Computes: nothing; everything is in the tables.
//! * Resident memory: the rows that are shown, a few megabytes.
//! * Passes over disk: the first rows of each table of the trend.
//! * Worst case: linear in the rows that are shown, times the steps that are shown.
//! * Fails when: a table is damaged or of an older version, the disk is full.
//! * Determinism: same trend in the same place, same bytes.
//! * Reference: none needed.

mod document;
mod table;

use crate::page;
use crate::subjects::check_version;
use document::Document;
use heaplake_kit::{Context, StageError, fs};
use heaplake_lake::output_file;
use heaplake_lake::reader::damaged;
use heaplake_schemas::series::{self, Series};
use std::path::Path;

/// Default file name of the page inside a trend.
pub const FILE: &str = "trend.html";

/// Maximum memory for making the page: its texts, rows and steps are bounded.
const BYTES: u64 = 24 << 20;

/// Makes the page of the trend in `folder`, in the file `to`, from `trend.json` and the tables present. On error there
/// is no page.
pub fn write(folder: &Path, to: &Path, context: &Context<'_>) -> Result<(), StageError> {
    let _bytes = context.budget.reserve("the page of a trend", BYTES)?;
    let path = folder.join(series::FILE);
    let bytes = fs::read_at_most(&path, fs::LIST_BYTES).map_err(|error| StageError::io(&path, "read", error))?;
    let series: Series = serde_json::from_slice(&bytes).map_err(|error| damaged(&path, error))?;
    check_version(&path, series.schema_version, &series.heaplake_version)?;
    let document = Document::read(&series, folder, context)?;
    let json = serde_json::to_string(&document).map_err(|error| damaged(folder, error))?;
    output_file::write(to, page::of_trend(&document.title(), &json).as_bytes(), context.cancel)
}
