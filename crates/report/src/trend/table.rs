//! A table on a trend's page: the first subjects.

use crate::subjects::{self, Hosts, Subject, Subjects, real, text, whole};
use crate::texts::Texts;
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::{Batch, value};
use heaplake_schemas::trend::TrendTable;
use serde::Serialize;
use std::path::Path;

/// A table.
pub(crate) type Table = subjects::Table<Row>;

/// Shape of a series that grows on some hosts only.
const ON_SOME: &str = "leaks_on_some";

/// A subject. Numbers are of the ranking measure.
#[derive(Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    subject: Subject,
    shape: u32,
    slope: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    first: Option<i64>,
    /// Hosts of the last step on which it has grown.
    grown: Option<Hosts>,
    /// Median of each step shown; mean, if it grows on some hosts only.
    values: Vec<Option<i64>>,
    /// Sum over the runs of the last step.
    sum: Option<i64>,
    #[serde(skip)]
    on_some: bool,
}

/// Number of steps, and the first one shown.
#[derive(Clone, Copy)]
pub(crate) struct Steps {
    pub all: usize,
    pub first: usize,
}

/// Reads a table: the first `most` subjects, with their formats if `formats`. `None` if the trend lacks it.
pub(crate) fn read(
    folder: &Path,
    table: &TrendTable,
    (steps, most, formats): (Steps, u64, bool),
    texts: &mut Texts,
    context: &Context<'_>,
) -> Result<Option<Table>, StageError> {
    let opened = Subjects::open(folder, table.table.file, (table.rows, steps.all), (most, formats))?;
    let Some(subjects) = opened else { return Ok(None) };
    let columns = ["shape", "slope", "slope_low", "slope_high", "first_growth", "grown_on", "grown_on_names"];
    let mut found = subjects.table(&columns, context, |batch, at| {
        let subject = subjects.subject(batch, at, texts)?;
        row(batch, at, subject, texts)
    })?;
    subjects.numbers(&["median", "mean", "sum", "hosts", "runs"], context, |batch, at, subject, step| {
        let row = &mut found.rows[subject];
        if let Some(grown) = row.grown.as_mut().filter(|_| step + 1 == steps.all) {
            grown.among(batch, at, ["hosts", "runs"])?;
        }
        if (steps.first..steps.all).contains(&step) {
            row.values.push(whole(batch, if row.on_some { "mean" } else { "median" }, at)?);
            row.sum = whole(batch, "sum", at)?;
        }
        Ok(())
    })?;
    Ok(Some(found))
}

fn row(batch: &Batch, at: usize, subject: Subject, texts: &mut Texts) -> Result<Row, StageError> {
    let number = |name: &str| real(batch, name, at);
    Ok(Row {
        subject,
        shape: text(batch, "shape", at, texts)?.unwrap_or(0),
        slope: number("slope")?,
        low: number("slope_low")?,
        high: number("slope_high")?,
        first: whole(batch, "first_growth", at)?,
        grown: Hosts::read(batch, at, ["grown_on", "grown_on_names"], texts)?,
        values: Vec::new(),
        sum: None,
        on_some: value(batch.texts("shape")?, at) == Some(ON_SOME),
    })
}
