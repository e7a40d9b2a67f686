//! `heaplake trend`: a series of steps, each with its runs, table by table: what grows, and since when.
//!
//! * Computes: for each fingerprint of a table the medians of its measures along the series, their slope with its
//!   interval, and the [`shape`] of the series.
//! * Resident memory: see [`crate::rows`]; about 40 bytes per row of the result.
//! * Passes over disk: see [`crate::rows`]; rows of the result are written once and read once, in the order of ranks.
//! * Fails when: runs have different formats, there are too few steps or no table, memory or disk do not suffice.
//! * Determinism: rows in the order of ranks; the same bytes with any number of threads and any budget.
//! * Reference: the contract of [`heaplake_schemas::trend`].

mod answer;
mod row;
pub mod shape;
pub mod steps;
mod table;
mod versions;

pub use answer::{Answer, InBrief, TopRow};

use crate::diff::Rules;
use crate::error::CompareError;
use crate::sides::has_table;
use heaplake_kit::Context;
use heaplake_kit::stage::Output;
use heaplake_schemas::series::Series;
use heaplake_schemas::trend::{CHAINS, TABLES, TrendTable};
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION};
use steps::Steps;

/// Follows the tables of the steps and writes what comes of it into the folder of `output`.
///
/// # Errors
/// [`CompareError`].
pub fn follow(steps: &Steps, rules: Rules<'_>, output: &Output, context: &Context<'_>) -> Result<Answer, CompareError> {
    let sides = &steps.sides;
    let mut series = Series {
        heaplake_version: HEAPLAKE_VERSION.to_owned(),
        schema_version: SCHEMA_VERSION,
        format: sides.format.clone(),
        by: steps.by.to_string(),
        steps: sides.sides.iter().map(crate::sides::Side::described).collect(),
        tables: Vec::new(),
        remarks: sides.remarks.clone(),
        missed: sides.missed.clone(),
    };
    let mut in_brief = Vec::new();
    // Where what classes have more is held.
    let mut chains = table::follow(sides, &CHAINS, rules, context)?;
    let paths = chains.as_ref().map(table::Followed::paths).transpose()?.unwrap_or_default();
    for table in TABLES {
        let followed = match table.table.name == CHAINS.table.name {
            true => chains.take(),
            false => table::follow(sides, table, rules, context)?,
        };
        let Some(followed) = followed else { continue };
        series.remarks.extend(lacking(steps, table));
        let mut brief = InBrief::of(table);
        series.tables.push(followed.write(output, (&paths, context), |row, texts, named, is_part| {
            brief.take(table, row, texts, named, is_part);
        })?);
        in_brief.push(brief);
    }
    if in_brief.is_empty() {
        let cause = "the runs have no table that can be followed";
        return Err(CompareError::refused(cause, "analyse them with the same --tables; classes is the most useful"));
    }
    Ok(Answer { series, followed: in_brief })
}

/// What to say of a table that some steps lack.
fn lacking(steps: &Steps, table: &TrendTable) -> Option<String> {
    let file = table.rows.compared.file;
    let lacks = |side: &&crate::sides::Side| !side.runs.iter().any(|found| has_table(&found.run, file));
    let count = steps.sides.sides.iter().filter(lacks).count();
    let steps = if count == 1 { "1 step has".to_owned() } else { format!("{count} steps have") };
    (count > 0).then(|| format!("{steps} no table {}.", table.rows.compared.name))
}
