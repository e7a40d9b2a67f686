//! A rollup as one HTML page: the fleet at a glance.
//!
//! * Computes: nothing; everything is in `rollup.json`.
//! * Resident memory: that file, and the rows and runs that are shown, a few megabytes.
//! * Passes over disk: that file once.
//! * Worst case: linear in the runs of the lake.
//! * Fails when: the file is damaged or of an older version, the disk is full.
//! * Determinism: same rollup, same runs with pages, same bytes.
//! * Reference: none needed.

mod document;

use crate::page;
use crate::subjects::check_version;
use document::Document;
use heaplake_kit::{Context, StageError, fs};
use heaplake_lake::output_file;
use heaplake_lake::reader::damaged;
use heaplake_schemas::rollup::{self, Rollup};
use std::path::Path;

/// Default file name of the page inside a rollup.
pub const FILE: &str = "fleet.html";

/// Maximum memory for making the page, besides `rollup.json`: its texts, rows and runs are bounded.
const BYTES: u64 = 16 << 20;
/// Bytes of memory per byte of `rollup.json`.
const READ: u64 = 3;

/// Makes the page of the rollup in `folder`, in the file `to`, from `rollup.json`. On error there is no page.
pub fn write(folder: &Path, to: &Path, context: &Context<'_>) -> Result<(), StageError> {
    let path = folder.join(rollup::FILE);
    let io = |error| StageError::io(&path, "read", error);
    let size = std::fs::metadata(&path).map_err(io)?.len();
    let _bytes = context.budget.reserve("the page of a fleet", BYTES + READ * size)?;
    let bytes = fs::read_at_most(&path, fs::LIST_BYTES).map_err(io)?;
    let rollup: Rollup = serde_json::from_slice(&bytes).map_err(|error| damaged(&path, error))?;
    check_version(&path, rollup.schema_version, &rollup.heaplake_version)?;
    let document = Document::of(&rollup, folder, to);
    let json = serde_json::to_string(&document).map_err(|error| damaged(folder, error))?;
    output_file::write(to, page::of_fleet(&document.title(), &json).as_bytes(), context.cancel)
}
