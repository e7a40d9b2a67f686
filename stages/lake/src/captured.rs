//! When the input of a run was captured: the one place that says so.

use crate::reader::{Reader, value};
use heaplake_kit::StageError;
use heaplake_schemas::run::Run;
use heaplake_schemas::snapshot;
use std::path::Path;

/// When the input of a run was captured, in microseconds since 1970; nothing where the run does not say. Its description
/// tells; that of an older version does not, and then its table [`snapshot`] does, if it has one.
///
/// # Errors
/// As [`Reader`].
pub fn captured_at(place: &Path, run: &Run) -> Result<Option<i64>, StageError> {
    const COLUMN: &str = "captured_at";
    let has_table = || run.tables.iter().any(|table| table.file == snapshot::FILE);
    if run.captured_at_us.is_some() || run.seal.is_some() || !has_table() {
        return Ok(run.captured_at_us);
    }
    let reader = Reader::open(&place.join(snapshot::FILE))?;
    if !reader.has(COLUMN) {
        return Ok(None);
    }
    let batch = reader.columns(&[COLUMN])?.batch()?;
    let Some(batch) = batch.filter(|batch| !batch.is_empty()) else { return Ok(None) };
    Ok(value(batch.times(COLUMN)?, 0))
}
