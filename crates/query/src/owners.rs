//! Owners of the memory of a run.

use crate::asked::Asked;
use crate::error::QueryError;
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::owners;
use heaplake_schemas::run::NamedOwner;

/// All owners, in the order of the table: retained size, descending.
///
/// # Errors
/// [`QueryError`] also if the run has no table of owners.
pub fn all(asked: &Asked) -> Result<Vec<NamedOwner>, QueryError> {
    let columns = ["owner", "count", "shallow_bytes", "retained_bytes", "freed_bytes"];
    let mut batches = Reader::open(&asked.need(&owners::TABLE)?)?.columns(&columns)?;
    let mut rows = Vec::new();
    while let Some(batch) = batches.batch()? {
        let names = batch.texts("owner")?;
        let (count, shallow) = (batch.sizes("count")?, batch.sizes("shallow_bytes")?);
        let (retained, freed) = (batch.sizes("retained_bytes")?, batch.sizes("freed_bytes")?);
        rows.extend((0..batch.len()).map(|row| NamedOwner {
            owner: names.value(row).to_owned(),
            count: count.value(row),
            shallow_bytes: shallow.value(row),
            retained_bytes: retained.value(row),
            freed_bytes: value(&freed, row),
        }));
    }
    Ok(rows)
}
