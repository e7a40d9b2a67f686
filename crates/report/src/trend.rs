//! A trend as one HTML page.
//!
//! * Computes: nothing; everything is in the tables.
//! * Resident memory: the rows that are shown, a few megabytes.
//! * Passes over disk: the first rows of each table of the trend.
//! * Worst case: linear in the rows that are shown, times the steps that are shown.
//! * Fails when: a table is damaged or of an older version, the disk is full.
//! * Determinism: same trend in the same place, same bytes.
//! * Reference: none needed.

use crate::contents::{self, Origin, Tables};
use crate::page;
use crate::sides::{Side, side};
use crate::subjects::{Hosts, Subject, Subjects, Table, real, text, whole};
use crate::texts::Texts;
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::{Batch, value};
use heaplake_schemas::series::{self, Series};
use heaplake_schemas::trend::{self, TrendTable};
use serde::Serialize;
use std::path::Path;

/// Default file name of the page inside a trend.
pub const FILE: &str = "trend.html";

/// Maximum memory for making the page: its texts, rows and steps are bounded.
const BYTES: u64 = 24 << 20;
/// Maximum steps shown, the last ones.
const STEPS: usize = 200;
/// Maximum subjects of each table.
const SUBJECTS: [u64; 8] = [400, 400, 100, 150, 100, 200, 200, 100];

/// All data of the page, as read by its script.
#[derive(Serialize)]
struct Document {
    trend: Brief,
    texts: Vec<String>,
    #[serde(flatten)]
    tables: Tables<Row>,
}

/// Contents of `trend.json`.
#[derive(Serialize)]
struct Brief {
    by: u32,
    /// Index of the first step shown.
    first: usize,
    steps: Vec<Side>,
    #[serde(flatten)]
    origin: Origin,
}

/// Makes the page of the trend in `folder`, in the file `to`, from `trend.json` and the tables present. On error there
/// is no page.
pub fn write(folder: &Path, to: &Path, context: &Context<'_>) -> Result<(), StageError> {
    let _bytes = context.budget.reserve("the page of a trend", BYTES)?;
    let path = folder.join(series::FILE);
    let of: Series = contents::description(&path, |of: &Series| (of.schema_version, &of.heaplake_version))?;
    let mut texts = Texts::default();
    let all = of.steps.len();
    let first = all.saturating_sub(STEPS);
    let by = texts.add(&of.by);
    let shown = of.steps[first..].iter().map(|step| side(step, 200, &mut texts)).collect();
    let versions = (&*of.format, &*of.heaplake_version);
    let origin = Origin::of(versions, &of.remarks, &of.tables, folder, &mut texts);
    let formats = of.format.contains(", ");
    let read = |table, most| read(folder, table, (Steps { all, first }, most, formats), &mut texts, context);
    let tables = Tables::read(trend::TABLES, SUBJECTS, read)?;
    let trend = Brief { by, first, steps: shown, origin };
    let document = Document { trend, texts: texts.into_list(), tables };
    let by = document.texts.get(by as usize).map_or("", String::as_str);
    let title = format!("Trend over {all} steps by {by}");
    contents::write(&document, folder, to, |json| page::of_trend(&title, json), context)
}

/// Shape of a series that grows on some hosts only.
const ON_SOME: &str = "leaks_on_some";

/// A subject. Numbers are of the ranking measure.
#[derive(Serialize)]
struct Row {
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
struct Steps {
    all: usize,
    first: usize,
}

/// Reads a table: the first `most` subjects, with their formats if `formats`. `None` if the trend lacks it.
fn read(
    folder: &Path,
    table: &TrendTable,
    (steps, most, formats): (Steps, u64, bool),
    texts: &mut Texts,
    context: &Context<'_>,
) -> Result<Option<Table<Row>>, StageError> {
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
