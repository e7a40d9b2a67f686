//! A table of a trend, as its page shows it: the first rows.

use crate::tables::shown;
use crate::texts::Texts;
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::{Batch, value};
use heaplake_schemas::trend::TrendTable;
use serde::Serialize;
use std::path::Path;

/// Most bytes of a sentence: the message of a finding, a chain.
const SENTENCE: usize = 600;

/// A table.
#[derive(Serialize)]
pub(crate) struct Table {
    /// The measure that rows are ranked by, and the other measures.
    measures: &'static [&'static str],
    /// Names of the texts that say what a row is.
    keys: Vec<&'static str>,
    /// Number of all rows.
    of: u64,
    /// The first rows.
    rows: Vec<Row>,
}

/// A row. Numbers are those of the measure that rows are ranked by.
#[derive(Serialize)]
struct Row {
    texts: Vec<Option<u32>>,
    signature: u32,
    shape: u32,
    slope: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    first: Option<i64>,
    /// The value in each step that is shown.
    values: Vec<Option<i64>>,
}

/// Reads a table: the first `most` rows, with the steps from `first` on. `None` if the trend does not have it.
///
/// # Errors
/// As [`Reader`](heaplake_lake::reader::Reader), and [`StageError::Cancelled`].
pub(crate) fn read(
    folder: &Path,
    table: &TrendTable,
    (first, most): (usize, u64),
    texts: &mut Texts,
    context: &Context<'_>,
) -> Result<Option<Table>, StageError> {
    let rows = table.rows;
    let keys: Vec<&'static str> = rows.keys.to_vec();
    let medians = format!("medians_{}", rows.measures[0]);
    let mut columns = keys.clone();
    columns.extend(["signature", "shape", "slope", "slope_low", "slope_high", "first_growth", &medians]);
    let found = shown(folder, table.table.file, &columns, most, |batch, at| {
        context.check()?;
        row(batch, at, (&keys, &medians, first), texts)
    })?;
    Ok(found.map(|found| Table { measures: rows.measures, keys, of: found.of, rows: found.rows }))
}

fn row(
    batch: &Batch,
    at: usize,
    (keys, medians, first): (&[&str], &str, usize),
    texts: &mut Texts,
) -> Result<Row, StageError> {
    let real = |name: &str| Ok::<_, StageError>(value(batch.f64s(name)?, at).filter(|real| real.is_finite()));
    let mut text =
        |name: &str| Ok::<_, StageError>(value(batch.texts(name)?, at).map(|text| texts.add_within(text, SENTENCE)));
    Ok(Row {
        texts: keys.iter().map(|key| text(key)).collect::<Result<_, _>>()?,
        signature: text("signature")?.unwrap_or(0),
        shape: text("shape")?.unwrap_or(0),
        slope: real("slope")?,
        low: real("slope_low")?,
        high: real("slope_high")?,
        first: value(batch.i64s("first_growth")?, at),
        values: batch.list_of_i64s(medians, at)?.into_iter().skip(first).collect(),
    })
}
