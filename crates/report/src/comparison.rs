//! A comparison as one HTML page.
//!
//! * Computes: only sums over the rows that are not shown; everything else is in the tables.
//! * Resident memory: the rows that are shown, a few megabytes, and a batch of numbers of the others.
//! * Passes over disk: the first rows of each table of the comparison, and three columns of the others.
//! * Worst case: linear.
//! * Fails when: a table is damaged or of an older version, the disk is full.
//! * Determinism: same comparison in the same place, same bytes.
//! * Reference: none needed.

use crate::contents::{self, Origin, Tables};
use crate::page;
use crate::sides::{Side, side};
use crate::subjects::{Hosts, Rest, Subject, Subjects, Table, id, real, text, whole};
use crate::texts::Texts;
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::{Batch, value};
use heaplake_schemas::comparison::{self, Comparison};
use heaplake_schemas::diff::{self, DiffTable};
use serde::Serialize;
use std::path::Path;

/// Default file name of the page inside a comparison.
pub const FILE: &str = "diff.html";

/// Maximum memory for making the page: its texts and rows are bounded.
const BYTES: u64 = 24 << 20;
/// Maximum subjects of each table.
const SUBJECTS: [u64; 8] = [1500, 1500, 300, 400, 300, 600, 600, 300];

/// All data of the page, as read by its script.
#[derive(Serialize)]
struct Document {
    comparison: Brief,
    texts: Vec<String>,
    #[serde(flatten)]
    tables: Tables<Row>,
}

/// Contents of `diff.json`.
#[derive(Serialize)]
struct Brief {
    base: Side,
    target: Side,
    #[serde(flatten)]
    origin: Origin,
}

/// Makes the page of the comparison in `folder`, in the file `to`, from `diff.json` and the tables present. On error
/// there is no page.
pub fn write(folder: &Path, to: &Path, context: &Context<'_>) -> Result<(), StageError> {
    let _bytes = context.budget.reserve("the page of a comparison", BYTES)?;
    let path = folder.join(comparison::FILE);
    let of: Comparison = contents::description(&path, |of: &Comparison| (of.schema_version, &of.heaplake_version))?;
    let mut texts = Texts::default();
    let (base, target) = (side(&of.base, 1000, &mut texts), side(&of.target, 1000, &mut texts));
    let versions = (&*of.format, &*of.heaplake_version);
    let origin = Origin::of(versions, &of.remarks, &of.tables, folder, &mut texts);
    let formats = of.format.contains(", ");
    let read = |table, most| read(folder, table, (most, formats), &mut texts, context);
    let tables = Tables::read(diff::TABLES, SUBJECTS, read)?;
    let mapped = [&tables.classes, &tables.types];
    let has_map = mapped.into_iter().flatten().any(|table| !table.rows.is_empty());
    let comparison = Brief { base, target, origin };
    let document = Document { comparison, texts: texts.into_list(), tables };
    let text = |at: u32| document.texts.get(at as usize).map_or("", String::as_str);
    let Brief { base, target, .. } = &document.comparison;
    let title = format!("{} → {}", text(base.selection), text(target.selection));
    contents::write(&document, folder, to, |json| page::of_comparison(&title, json, has_map), context)
}

/// A subject. Numbers are of the ranking measure.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    subject: Subject,
    status: u32,
    evidence: u32,
    /// Sum, mean and median per side.
    base: Option<[i64; 3]>,
    target: Option<[i64; 3]>,
    /// Difference of the sums with its interval, and of the means.
    delta: Option<i64>,
    interval: Option<[f64; 2]>,
    mean: Option<i64>,
    /// Null also if the base is 0.
    percent: Option<f64>,
    q: Option<f64>,
    pairs: Option<i64>,
    /// Base and target runs with the subject, then all base and target runs.
    runs: [i64; 4],
    changed: Option<Hosts>,
    /// `delta` of the other measures.
    others: Vec<Option<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    through: Option<Through>,
}

/// The chain through which a class grew most.
#[derive(Serialize)]
struct Through {
    text: u32,
    bytes: Option<i64>,
    new: bool,
}

const COLUMNS: [&str; 27] = [
    "status",
    "evidence",
    "base_sum",
    "base_mean",
    "base_median",
    "target_sum",
    "target_mean",
    "target_median",
    "delta_sum",
    "delta_sum_low",
    "delta_sum_high",
    "delta_mean",
    "percent_sum",
    "q",
    "pairs",
    "base_runs_with",
    "target_runs_with",
    "base_runs",
    "target_runs",
    "target_hosts",
    "changed_on",
    "changed_on_names",
    "class_fingerprint",
    "share",
    "grew_through_text",
    "grew_through_bytes",
    "grew_through_new",
];

/// Reads a table: the first subjects (maximum number, and whether with formats), and sums of the others. `None` if the
/// comparison lacks it.
fn read(
    folder: &Path,
    table: &DiffTable,
    shown: (u64, bool),
    texts: &mut Texts,
    context: &Context<'_>,
) -> Result<Option<Table<Row>>, StageError> {
    let Some(subjects) = Subjects::open(folder, table.table.file, (table, 1), shown)? else { return Ok(None) };
    let mut found = subjects.table(&COLUMNS, context, |batch, at| {
        let subject = subjects.subject(batch, at, texts)?;
        row(batch, at, subject, texts)
    })?;
    subjects.numbers(&["delta_sum"], context, |batch, at, subject, measure| {
        if measure > 0 {
            found.rows[subject].others.push(whole(batch, "delta_sum", at)?);
        }
        Ok(())
    })?;
    found.rest = Some(rest(&subjects, context)?);
    Ok(Some(found))
}

/// Sums the subjects that are not shown.
fn rest(subjects: &Subjects<'_>, context: &Context<'_>) -> Result<Rest, StageError> {
    let mut rest = Rest::default();
    subjects.others(&["base_mean", "target_mean"], context, |batch, at, _, measure| {
        if measure == 0 {
            rest.rows += 1;
            rest.base = rest.base.saturating_add(whole(batch, "base_mean", at)?.unwrap_or(0));
            rest.target = rest.target.saturating_add(whole(batch, "target_mean", at)?.unwrap_or(0));
        }
        Ok(())
    })?;
    Ok(rest)
}

fn row(batch: &Batch, at: usize, subject: Subject, texts: &mut Texts) -> Result<Row, StageError> {
    let number = |name: &str| whole(batch, name, at);
    let amounts = |[sum, mean, median]: [&str; 3]| {
        let numbers = (number(sum)?, number(mean)?, number(median)?);
        Ok::<_, StageError>(match numbers {
            (Some(sum), Some(mean), Some(median)) => Some([sum, mean, median]),
            _ => None,
        })
    };
    let runs = |name: &str| Ok::<_, StageError>(number(name)?.unwrap_or(0));
    let ends = (real(batch, "delta_sum_low", at)?, real(batch, "delta_sum_high", at)?);
    Ok(Row {
        subject,
        status: text(batch, "status", at, texts)?.unwrap_or(0),
        evidence: text(batch, "evidence", at, texts)?.unwrap_or(0),
        base: amounts(["base_sum", "base_mean", "base_median"])?,
        target: amounts(["target_sum", "target_mean", "target_median"])?,
        delta: number("delta_sum")?,
        interval: ends.0.zip(ends.1).map(|(low, high)| [low, high]),
        mean: number("delta_mean")?,
        percent: real(batch, "percent_sum", at)?,
        q: real(batch, "q", at)?,
        pairs: number("pairs")?,
        runs: [runs("base_runs_with")?, runs("target_runs_with")?, runs("base_runs")?, runs("target_runs")?],
        changed: changed(batch, at, texts)?,
        others: Vec::new(),
        class: id(batch, "class_fingerprint", at, texts)?,
        share: real(batch, "share", at)?,
        through: through(batch, at, texts)?,
    })
}

fn changed(batch: &Batch, at: usize, texts: &mut Texts) -> Result<Option<Hosts>, StageError> {
    let mut changed = Hosts::read(batch, at, ["changed_on", "changed_on_names"], texts)?;
    if let Some(changed) = &mut changed {
        changed.among(batch, at, ["target_hosts", "target_runs"])?;
    }
    Ok(changed)
}

fn through(batch: &Batch, at: usize, texts: &mut Texts) -> Result<Option<Through>, StageError> {
    let Some(chain) = text(batch, "grew_through_text", at, texts)? else { return Ok(None) };
    let new = value(batch.flags("grew_through_new")?, at).unwrap_or(false);
    Ok(Some(Through { text: chain, bytes: whole(batch, "grew_through_bytes", at)?, new }))
}
