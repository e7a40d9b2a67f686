//! A table on a comparison's page: the first subjects, and sums of the others.

use crate::subjects::{self, Hosts, Rest, Subject, Subjects, id, real, text, whole};
use crate::texts::Texts;
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::{Batch, value};
use heaplake_schemas::diff::DiffTable;
use serde::Serialize;
use std::path::Path;

/// A table.
pub(crate) type Table = subjects::Table<Row>;

/// A subject. Numbers are of the ranking measure.
#[derive(Serialize)]
pub(crate) struct Row {
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
pub(crate) fn read(
    folder: &Path,
    table: &DiffTable,
    shown: (u64, bool),
    texts: &mut Texts,
    context: &Context<'_>,
) -> Result<Option<Table>, StageError> {
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
