//! The columns `signature` and `fingerprint`, the last ones of every table that comparisons match by row.

use crate::rows::Computed;
use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::UInt64Type;
use heaplake_kit::{Job, StageError, StringTable, StringWriter};
use heaplake_lake::source::{Source, array};
use heaplake_lake::text::Texts;
use heaplake_names::{Normaliser, Runtime, fingerprint};
use heaplake_schemas::column::{FINGERPRINT, SIGNATURE};
use heaplake_schemas::scratch::StringColumns;
use std::sync::Arc;

/// Rules by which a run normalises names.
pub(crate) fn names(job: &Job<'_>, format: &str) -> Normaliser {
    let names = Normaliser::of(Runtime::of_format(format));
    match job.setting.options.names() {
        Some(rules) => names.with_rules(rules),
        None => names,
    }
}

/// Writes `count` signatures; `of` makes the one at a position.
pub(crate) fn write_signatures(
    job: &Job<'_>,
    columns: StringColumns,
    count: u64,
    mut of: impl FnMut(usize) -> Result<String, StageError>,
) -> Result<u64, StageError> {
    let mut writer = StringWriter::create(job.scratch, columns)?;
    for at in 0..count as usize {
        writer.push(of(at)?.as_bytes())?;
        job.context.check()?;
    }
    writer.finish()
}

/// The two computed columns from a table of signatures. `positions` opens a reader of the rows' positions in that table.
pub(crate) fn signed<'a, N>(
    signatures: &'a StringTable,
    positions: impl Fn() -> Result<N, StageError>,
) -> Result<Computed<'a>, StageError>
where
    N: FnMut(usize) -> Result<Vec<u32>, StageError> + Send + 'a,
{
    let mut hashed = positions()?;
    let hash = |position: u32| fingerprint(&signatures.text(position as usize));
    let hashes = move |rows| Ok(array::<UInt64Type>(hashed(rows)?.into_iter().map(hash).collect()));
    Ok(vec![
        (SIGNATURE.name, Source::texts(Texts::Table(signatures), positions()?)),
        (FINGERPRINT.name, Source::values(hashes)),
    ])
}

/// Positions from 0 on, for rows in the order of their signatures.
pub(crate) fn in_order() -> Result<impl FnMut(usize) -> Result<Vec<u32>, StageError> + Send, StageError> {
    let mut next = 0;
    Ok(move |rows| {
        let first = next;
        next += rows as u32;
        Ok((first..next).collect())
    })
}

/// The two columns of a few rows.
pub(crate) fn signed_rows(signatures: &[String]) -> [ArrayRef; 2] {
    [
        Arc::new(StringArray::from_iter_values(signatures)),
        array::<UInt64Type>(signatures.iter().map(|signature| fingerprint(signature)).collect()),
    ]
}
