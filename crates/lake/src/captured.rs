//! Capture time of a run's input.

use crate::reader::{Reader, value};
use heaplake_kit::StageError;
use heaplake_schemas::run::Run;
use heaplake_schemas::snapshot;
use std::path::Path;

/// Returns the capture time of a run's input, in microseconds since 1970, if known: from the description or, for older
/// versions, from the table [`snapshot`].
pub fn captured_at(place: &Path, run: &Run) -> Result<Option<i64>, StageError> {
    const COLUMN: &str = "captured_at";
    let has_table = || run.tables.iter().any(|table| table.file == snapshot::TABLE.file);
    if run.captured_at_us.is_some() || run.seal.is_some() || !has_table() {
        return Ok(run.captured_at_us);
    }
    let reader = Reader::open(&place.join(snapshot::TABLE.file))?;
    if !reader.has(COLUMN) {
        return Ok(None);
    }
    let batch = reader.columns(&[COLUMN])?.batch()?;
    let Some(batch) = batch.filter(|batch| !batch.is_empty()) else { return Ok(None) };
    Ok(value(batch.times(COLUMN)?, 0))
}
