//! A comparison as one HTML page.
//!
//! * Computes: only sums over the rows that are not shown; everything else is in the tables.
//! * Resident memory: the rows that are shown, a few megabytes, and a batch of numbers of the others.
//! * Passes over disk: the first rows of each table of the comparison, and three columns of the others.
//! * Worst case: linear.
//! * Fails when: a table is damaged or of an older version, the disk is full.
//! * Determinism: same comparison in the same place, same bytes.
//! * Reference: none needed.

mod document;
mod table;

use crate::page;
use crate::subjects::check_version;
use document::Document;
use heaplake_kit::{Context, StageError, fs};
use heaplake_lake::output_file;
use heaplake_lake::reader::damaged;
use heaplake_schemas::comparison::{self, Comparison};
use std::path::Path;

/// Default file name of the page inside a comparison.
pub const FILE: &str = "diff.html";

/// Maximum memory for making the page: its texts and rows are bounded.
const BYTES: u64 = 24 << 20;

/// Makes the page of the comparison in `folder`, in the file `to`, from `diff.json` and the tables present. On error
/// there is no page.
pub fn write(folder: &Path, to: &Path, context: &Context<'_>) -> Result<(), StageError> {
    let _bytes = context.budget.reserve("the page of a comparison", BYTES)?;
    let path = folder.join(comparison::FILE);
    let bytes = fs::read_at_most(&path, fs::LIST_BYTES).map_err(|error| StageError::io(&path, "read", error))?;
    let comparison: Comparison = serde_json::from_slice(&bytes).map_err(|error| damaged(&path, error))?;
    check_version(&path, comparison.schema_version, &comparison.heaplake_version)?;
    let document = Document::read(&comparison, folder, context)?;
    let json = serde_json::to_string(&document).map_err(|error| damaged(folder, error))?;
    output_file::write(to, page::of_comparison(&document.title(), &json, document.has_map()).as_bytes(), context.cancel)
}
