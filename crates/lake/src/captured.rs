//! Capture time of a run's input.

use crate::entry::Entry;
use crate::reader::{Reader, value};
use heaplake_kit::StageError;
use heaplake_schemas::run::Run;
use heaplake_schemas::snapshot;
use std::path::Path;

/// Returns the capture time of a run's input, in microseconds since 1970, if known: from the description or, for older
/// versions, from the table [`snapshot`].
pub fn captured_at(place: &Path, run: &Entry) -> Result<Option<i64>, StageError> {
    let has_table = || run.table(snapshot::TABLE.file).is_some();
    known_or_read(place, run.captured_at_us, run.is_sealed || !has_table())
}

/// As [`captured_at`], from a whole description.
pub fn of_run(place: &Path, run: &Run) -> Result<Option<i64>, StageError> {
    let has_table = || run.tables.iter().any(|table| table.file == snapshot::TABLE.file);
    known_or_read(place, run.captured_at_us, run.seal.is_some() || !has_table())
}

fn known_or_read(place: &Path, known: Option<i64>, is_all: bool) -> Result<Option<i64>, StageError> {
    const COLUMN: &str = "captured_at";
    if known.is_some() || is_all {
        return Ok(known);
    }
    let reader = Reader::open(&place.join(snapshot::TABLE.file))?;
    if !reader.has(COLUMN) {
        return Ok(None);
    }
    let batch = reader.columns(&[COLUMN])?.batch()?;
    let Some(batch) = batch.filter(|batch| !batch.is_empty()) else { return Ok(None) };
    Ok(value(batch.times(COLUMN)?, 0))
}
