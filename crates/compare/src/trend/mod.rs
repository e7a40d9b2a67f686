//! `heaplake trend`: follows a series of steps, each with its runs, table by table: which subjects grow, and since
//! when.
//!
//! * Computes: for each fingerprint of a table the medians of its measures along the series, their slope with its
//!   interval, and the [`shape`] of the series.
//! * Resident memory: see [`crate::rows`]; about 40 bytes per row of the result.
//! * Passes over disk: see [`crate::rows`]; rows of the result are written once and read once, in the order of ranks.
//! * Fails when: no format is on enough steps, there are too few steps or no table, memory or disk do not suffice.
//! * Determinism: rows in the order of ranks; the same bytes with any number of threads and any budget.
//! * Reference: the contract of [`heaplake_schemas::trend`].

mod answer;
mod row;
pub mod shape;
pub mod steps;
mod table;
mod versions;

pub use answer::{Answer, InBrief, TopRow};
pub use versions::compare as compare_releases;

use crate::error::CompareError;
use crate::ranked;
use crate::rows::Rules;
use crate::sides::{Formats, OfFormat, Side, Sides, has_table};
use heaplake_kit::Context;
use heaplake_kit::stage::Output;
use heaplake_schemas::series::Series;
use heaplake_schemas::trend::{CHAINS, TABLES, TrendTable};
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION};
use steps::By;

/// Approximate rows per row group.
const BATCH: usize = 1 << 14;

/// Follows the tables of steps, formed by a key, per format, and writes the results into the folder of `output`. `rules` has one
/// entry per format.
pub fn follow(
    sides: &Sides,
    by: &By,
    formats: &Formats,
    rules: &[Rules<'_>],
    output: &Output,
    context: &Context<'_>,
) -> Result<Answer, CompareError> {
    let parts: Vec<(&OfFormat, &Rules<'_>)> = formats.parts.iter().zip(rules).collect();
    let mut series = Series {
        heaplake_version: HEAPLAKE_VERSION.to_owned(),
        schema_version: SCHEMA_VERSION,
        format: formats.names(),
        by: by.to_string(),
        steps: sides.sides.iter().map(Side::described).collect(),
        tables: Vec::new(),
        remarks: [sides.notes.remarks.as_slice(), formats.remarks.as_slice()].concat(),
        missed: sides.notes.missed.clone(),
    };
    let mut in_brief = Vec::new();
    // Chains first: they locate the growth of classes.
    let (mut chains, mut paths) = (Vec::new(), Vec::new());
    for (part, rules) in &parts {
        let of_part = table::follow(&part.sides, CHAINS.rows, rules, context)?;
        paths.push(of_part.as_ref().map(table::paths).transpose()?.unwrap_or_default());
        chains.push(of_part);
    }
    for table in TABLES {
        let mut followed = Vec::new();
        for (at, (part, rules)) in parts.iter().enumerate() {
            let of_part = match table.table.name == CHAINS.table.name {
                true => chains[at].take(),
                false => table::follow(&part.sides, table.rows, rules, context)?,
            };
            let Some(of_part) = of_part else { continue };
            series.remarks.extend(lacking(&part.sides, table));
            let brief = InBrief::of(table, &part.format);
            followed.push(table::OfFormat { followed: of_part, paths: &paths[at], brief });
        }
        if !followed.is_empty() {
            let batch = (BATCH / (sides.sides.len() * table.rows.measures.len())).max(1);
            series.tables.push(ranked::write::write(&table.table, &mut followed, batch, output, context)?);
            in_brief.extend(followed.into_iter().map(|of_format| of_format.brief));
        }
    }
    if in_brief.is_empty() {
        let cause = "the runs have no table that can be followed";
        return Err(CompareError::refused(cause, "analyse them with the same --tables; classes is the most useful"));
    }
    Ok(Answer { series, followed: in_brief })
}

/// Message for a table that some steps lack.
fn lacking(sides: &Sides, table: &TrendTable) -> Option<String> {
    let file = table.rows.compared.file;
    // A step without runs of the format lacks no table.
    let lacks = |side: &&Side| !side.runs.is_empty() && !side.runs.iter().any(|found| has_table(&found.run, file));
    let count = sides.sides.iter().filter(lacks).count();
    let steps = if count == 1 { "1 step has".to_owned() } else { format!("{count} steps have") };
    (count > 0).then(|| format!("{steps} no table {}.", table.rows.compared.name))
}
