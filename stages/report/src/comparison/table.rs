//! A table of a comparison, as its page shows it: the first rows, and the sums of the others.

use crate::tables::shown;
use crate::texts::Texts;
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::{Batch, Reader, value};
use heaplake_schemas::diff::DiffTable;
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
    pub rows: Vec<Row>,
    /// What the other rows are together.
    rest: Rest,
}

/// A row. Numbers are those of the measure that rows are ranked by.
#[derive(Serialize)]
pub(crate) struct Row {
    texts: Vec<Option<u32>>,
    signature: u32,
    /// As text: JavaScript numbers are exact only up to 2^53.
    fingerprint: u32,
    status: u32,
    base: Option<i64>,
    target: Option<i64>,
    delta: Option<i64>,
    percent: Option<f64>,
    q: Option<f64>,
    /// Runs with the row, of the base and of the target, and all runs.
    runs: [i64; 4],
    /// The difference of the measures after the first.
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

/// Sums of the rows that are not shown.
#[derive(Default, Serialize)]
struct Rest {
    rows: u64,
    base: i64,
    target: i64,
}

/// Reads a table: the first `most` rows, and sums of the others. `None` if the comparison does not have it.
///
/// # Errors
/// As [`Reader`], and [`StageError::Cancelled`].
pub(crate) fn read(
    folder: &Path,
    table: &DiffTable,
    most: u64,
    texts: &mut Texts,
    context: &Context<'_>,
) -> Result<Option<Table>, StageError> {
    // `status` of a compared table is hidden behind that of the comparison.
    let keys: Vec<&'static str> = table.keys.iter().copied().filter(|key| *key != "status").collect();
    let columns = Columns::of(table, keys);
    let rows = shown(folder, table.table.file, &columns.names(), most, |batch, at| {
        context.check()?;
        columns.row(batch, at, texts)
    })?;
    let Some(rows) = rows else { return Ok(None) };
    let rest = rest(folder, table, &columns, rows.rows.len() as u64, context)?;
    Ok(Some(Table { measures: table.measures, keys: columns.keys, of: rows.of, rows: rows.rows, rest }))
}

/// Sums the rows after the first `skip`.
fn rest(
    folder: &Path,
    table: &DiffTable,
    columns: &Columns,
    skip: u64,
    context: &Context<'_>,
) -> Result<Rest, StageError> {
    let mut rest = Rest::default();
    let reader = Reader::open(&folder.join(table.table.file))?;
    if reader.rows() <= skip {
        return Ok(rest);
    }
    let [base, target, ..] = &columns.numbers;
    let mut batches = reader.columns(&[base, target])?;
    while let Some(batch) = batches.batch()? {
        context.check()?;
        let (bases, targets) = (batch.i64s(base)?, batch.i64s(target)?);
        let first = skip.saturating_sub(batch.first_row()).min(batch.len() as u64);
        for at in first as usize..batch.len() {
            rest.rows += 1;
            rest.base = rest.base.saturating_add(value(bases, at).unwrap_or(0));
            rest.target = rest.target.saturating_add(value(targets, at).unwrap_or(0));
        }
    }
    Ok(rest)
}

/// Names of the columns of a table that are read.
struct Columns {
    keys: Vec<&'static str>,
    /// Base, target, difference, percent, q.
    numbers: [String; 5],
    others: Vec<String>,
    is_chains: bool,
    is_classes: bool,
}

const PLAIN: [&str; 7] =
    ["signature", "fingerprint", "status", "base_runs_with", "target_runs_with", "base_runs", "target_runs"];

impl Columns {
    fn of(table: &DiffTable, keys: Vec<&'static str>) -> Self {
        let has = |name: &str| table.table.columns.iter().any(|column| column.name == name);
        let measure = table.measures[0];
        Self {
            keys,
            numbers: ["base", "target", "delta", "delta_percent", "q"].map(|field| format!("{field}_{measure}")),
            others: table.measures[1..].iter().map(|measure| format!("delta_{measure}")).collect(),
            is_chains: has("class_fingerprint"),
            is_classes: has("grew_through_text"),
        }
    }

    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.keys.iter().copied().chain(PLAIN).collect();
        names.extend(self.numbers.iter().chain(&self.others).map(String::as_str));
        if self.is_chains {
            names.extend(["class_fingerprint", "share"]);
        }
        if self.is_classes {
            names.extend(["grew_through_text", "grew_through_bytes", "grew_through_new"]);
        }
        names
    }

    fn row(&self, batch: &Batch, at: usize, texts: &mut Texts) -> Result<Row, StageError> {
        let whole = |name: &str| Ok::<_, StageError>(value(batch.i64s(name)?, at));
        let real = |name: &str| Ok::<_, StageError>(value(batch.f64s(name)?, at).filter(|real| real.is_finite()));
        let runs = |name: &str| Ok::<_, StageError>(whole(name)?.unwrap_or(0));
        let mut text = |name: &str| {
            Ok::<_, StageError>(value(batch.texts(name)?, at).map(|text| texts.add_within(text, SENTENCE)))
        };
        let keys = self.keys.iter().map(|key| text(key)).collect::<Result<_, _>>()?;
        let (signature, status) = (text("signature")?.unwrap_or(0), text("status")?.unwrap_or(0));
        let [base, target, delta, percent, q] = &self.numbers;
        let id = |name: &str| Ok::<_, StageError>(format!("{:016x}", batch.u64s(name)?.value(at)));
        Ok(Row {
            texts: keys,
            signature,
            fingerprint: texts.add(&id("fingerprint")?),
            status,
            base: whole(base)?,
            target: whole(target)?,
            delta: whole(delta)?,
            percent: real(percent)?,
            q: real(q)?,
            runs: [runs("base_runs_with")?, runs("target_runs_with")?, runs("base_runs")?, runs("target_runs")?],
            others: self.others.iter().map(|name| whole(name)).collect::<Result<_, _>>()?,
            class: if self.is_chains { Some(texts.add(&id("class_fingerprint")?)) } else { None },
            share: if self.is_chains { real("share")? } else { None },
            through: if self.is_classes { through(batch, at, texts)? } else { None },
        })
    }
}

fn through(batch: &Batch, at: usize, texts: &mut Texts) -> Result<Option<Through>, StageError> {
    let Some(text) = value(batch.texts("grew_through_text")?, at) else { return Ok(None) };
    let new = value(batch.flags("grew_through_new")?, at).unwrap_or(false);
    let text = texts.add_within(text, SENTENCE);
    Ok(Some(Through { text, bytes: value(batch.i64s("grew_through_bytes")?, at), new }))
}
