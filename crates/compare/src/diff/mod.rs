//! `heaplake diff`: compares two sides, table by table.
//!
//! * Computes: for each fingerprint of a table its measures on both sides, whether the difference is real, and a
//!   status.
//! * Resident memory: see [`crate::rows`]; about 200 bytes per subject of the result.
//! * Passes over disk: see [`crate::rows`]; rows of the result are written once and read once, in the order of ranks.
//! * Fails when: the sides have no format in common, no table is on both sides, memory or disk do not suffice.
//! * Determinism: rows in the order of ranks; the same bytes with any number of threads and any budget.
//! * Reference: the contract of [`heaplake_schemas::diff`].

mod answer;
mod class;
mod holders;
mod pairs;
mod row;
mod sides;
mod status;
mod table;
mod tests;
mod write;

pub use answer::{Amount, Answer, GrewThrough, InBrief, TopRow};
pub use table::SIGNIFICANT;
pub use tests::{Question, Tests, test};

use crate::error::CompareError;
use crate::ranked;
use crate::rows::Rules;
use crate::sides::{Formats, OfFormat, Side, Sides, has_table};
use heaplake_kit::Context;
use heaplake_kit::stage::Output;
use heaplake_lake::selection::FoundRun;
use heaplake_schemas::comparison::{Comparison, Lacking};
use heaplake_schemas::diff::{CHAINS, CLASSES, DiffTable, TABLES};
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION};
use std::path::PathBuf;
use table::Compared;
use write::Around;

/// Number of sides that must have a format for it to be compared.
pub const BOTH: usize = 2;
/// Subjects per row group.
const BATCH: usize = 1 << 14;

/// Compares the tables that both sides have, per format, and writes them into the folder of `output`. `rules` has one
/// entry per format.
pub fn compare(
    sides: &Sides,
    formats: &Formats,
    rules: &[Rules<'_>],
    output: &Output,
    context: &Context<'_>,
) -> Result<Answer, CompareError> {
    let parts: Vec<(&OfFormat, &Rules<'_>)> = formats.parts.iter().zip(rules).collect();
    let mut comparison = described(sides, formats);
    let around = |(part, rules): &(&OfFormat, &Rules<'_>)| around(&part.sides, rules, context);
    let mut firsts = parts.iter().map(around).collect::<Result<Vec<_>, _>>()?;
    let mut in_brief = Vec::new();
    for table in TABLES {
        let mut compared = Vec::new();
        for ((part, rules), (around, first)) in parts.iter().zip(&mut firsts) {
            let of_part = match [&CLASSES, &CHAINS].iter().position(|other| other.table.name == table.table.name) {
                Some(place) => first[place].take(),
                None => table::compare(&part.sides, table, rules, context)?,
            };
            let Some(of_part) = of_part else {
                comparison.remarks.extend(lacking(&part.sides, table));
                continue;
            };
            let brief = InBrief::of(&of_part, &part.format);
            compared.push(write::OfFormat { compared: of_part, around, brief });
        }
        if !compared.is_empty() {
            comparison.tables.push(ranked::write::write(&table.table, &mut compared, BATCH, output, context)?);
            in_brief.extend(compared.into_iter().map(|of_format| of_format.brief));
        }
    }
    if in_brief.is_empty() {
        let cause = "the sides have no table in common that can be compared";
        return Err(CompareError::refused(cause, "analyse both with the same --tables; classes is the most useful"));
    }
    Ok(Answer { comparison, compared: in_brief })
}

/// Describes a comparison before its tables are compared.
fn described(sides: &Sides, formats: &Formats) -> Comparison {
    let lack = |part: &OfFormat| TABLES.iter().filter_map(|table| some_lack(&part.sides, table)).collect::<Vec<_>>();
    let mut comparison = Comparison {
        heaplake_version: HEAPLAKE_VERSION.to_owned(),
        schema_version: SCHEMA_VERSION,
        format: formats.names(),
        base: sides.sides[sides::BASE].described(),
        target: sides.sides[sides::TARGET].described(),
        tables: Vec::new(),
        remarks: [sides.notes.remarks.as_slice(), formats.remarks.as_slice()].concat(),
        missed: sides.notes.missed.clone(),
        lacking: formats.parts.iter().flat_map(lack).collect(),
    };
    comparison.remarks.extend(comparison.lacking.iter().map(in_words));
    comparison.lacking.extend(one_sided(formats));
    comparison
}

/// If several formats are compared: the runs with a table that only one side has in their format. A gate on the table
/// does not see them.
fn one_sided(formats: &Formats) -> Vec<Lacking> {
    let all = formats.parts.iter().chain(&formats.others);
    if all.clone().count() < 2 {
        return Vec::new();
    }
    let of_table = |part: &OfFormat, table: &DiffTable| {
        let has = |found: &FoundRun| has_table(&found.run, table.compared.file);
        let both = part.sides.sides.iter().all(|side| side_has(side, table));
        let runs: Vec<PathBuf> =
            part.sides.runs().filter(|(_, found)| !both && has(found)).map(|(_, found)| found.place.clone()).collect();
        let lacking = Lacking { table: of(table), runs, format: Some(part.format.clone()) };
        Some(lacking).filter(|lacking| !lacking.runs.is_empty())
    };
    all.flat_map(|part| TABLES.iter().filter_map(move |table| of_table(part, table))).collect()
}

/// Table name as used by gates.
fn of(table: &DiffTable) -> String {
    table.table.name.trim_start_matches("diff_").to_owned()
}

/// Compares classes and chains, which need each other's results.
fn around(
    sides: &Sides,
    rules: &Rules<'_>,
    context: &Context<'_>,
) -> Result<(Around, [Option<Compared>; 2]), CompareError> {
    let mut around = Around::default();
    let classes = table::compare(sides, &CLASSES, rules, context)?;
    if let Some(classes) = &classes {
        around.classes = write::classes_of_base(classes)?;
    }
    let chains = table::compare(sides, &CHAINS, rules, context)?;
    if let Some(chains) = &chains {
        around.holders = holders::find(chains, &around.classes)?;
    }
    Ok((around, [classes, chains]))
}

fn side_has(side: &Side, table: &DiffTable) -> bool {
    side.runs.iter().any(|found| has_table(&found.run, table.compared.file))
}

/// Message for a table that one side lacks.
fn lacking(sides: &Sides, table: &DiffTable) -> Option<String> {
    let lacks = match (side_has(&sides.sides[sides::BASE], table), side_has(&sides.sides[sides::TARGET], table)) {
        (true, false) => "target",
        (false, true) => "base",
        _ => return None,
    };
    Some(format!("The {lacks} has no table {}: it is not compared.", table.compared.name))
}

/// Runs without a table that others of their side have; `None` if a whole side lacks it.
fn some_lack(sides: &Sides, table: &DiffTable) -> Option<Lacking> {
    let compared = sides.sides.iter().all(|side| side_has(side, table));
    // Runs with half-deleted folders are reported elsewhere.
    let lacks = |found: &FoundRun| {
        !has_table(&found.run, table.compared.file) && !sides.notes.half_deleted.contains(&found.place)
    };
    let lack = sides.runs().map(|(_, found)| found).filter(|found| lacks(found));
    let runs: Vec<PathBuf> = lack.filter(|_| compared).map(|found| found.place.clone()).collect();
    (!runs.is_empty()).then(|| Lacking { table: of(table), runs, format: None })
}

fn in_words(Lacking { table, runs, .. }: &Lacking) -> String {
    let first = runs.first().map(|run| run.display().to_string()).unwrap_or_default();
    match runs.len() {
        1 => format!("{first} has no table {table}: it is compared without this run."),
        more => format!("{more} runs, {first} the first of them, have no table {table}: it is compared without them."),
    }
}
