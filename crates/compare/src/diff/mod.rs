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
pub(crate) mod parts;
pub(crate) mod row;
pub(crate) mod sides;
mod status;
mod table;
mod tests;
pub(crate) mod untold;
mod write;

pub use answer::{Amount, Answer, InBrief, Through, TopRow};
pub(crate) use table::POSSIBLE;
pub use table::{Rules, SIGNIFICANT};
pub use tests::{Question, Tests, test};

use crate::error::CompareError;
use crate::sides::{Formats, OfFormat, Sides};
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

/// Compares the tables that both sides have, per format, and writes them into the folder of `output`. `rules` has one
/// entry per format.
pub fn compare(
    sides: &Sides,
    formats: &Formats,
    rules: &[Rules<'_>],
    output: &Output,
    context: &Context<'_>,
) -> Result<Answer, CompareError> {
    let parts: Vec<(&OfFormat, Rules<'_>)> = formats.parts.iter().zip(rules.iter().copied()).collect();
    let mut comparison = described(sides, formats);
    let (mut arounds, mut firsts) = (Vec::new(), Vec::new());
    for (part, rules) in &parts {
        let (around, first) = around(&part.sides, *rules, context)?;
        arounds.push(around);
        firsts.push(first);
    }
    let mut in_brief = Vec::new();
    for table in TABLES {
        let mut compared = Vec::new();
        for (at, (part, rules)) in parts.iter().enumerate() {
            let first = &mut firsts[at];
            let of_part = match first.iter().position(|compared| compared.table.table.name == table.table.name) {
                Some(place) => Some(first.swap_remove(place)),
                None if [CLASSES, CHAINS].iter().any(|other| other.table.name == table.table.name) => None,
                None => table::compare(&part.sides, table, *rules, context)?,
            };
            match of_part {
                Some(of_part) => {
                    compared.push(write::OfFormat { format: &part.format, compared: of_part, around: &arounds[at] });
                }
                None => comparison.remarks.extend(lacking(&part.sides, table)),
            }
        }
        if compared.is_empty() {
            continue;
        }
        let mut briefs = Vec::with_capacity(compared.len());
        for write::OfFormat { format, compared, .. } in &compared {
            let mut brief = InBrief::of(compared, format);
            [brief.smallest_effect, brief.smallest_effect_on_tenth] = smallest_effects(compared)?;
            briefs.push(brief);
        }
        let take = |at: usize, told: &write::Told| {
            let write::OfFormat { compared, around, .. } = &compared[at];
            briefs[at].take(told, compared, &around.holders);
        };
        comparison.tables.push(write::write(&table.table, &compared, output, context, take)?);
        in_brief.append(&mut briefs);
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
        remarks: [sides.remarks.as_slice(), formats.remarks.as_slice()].concat(),
        missed: sides.missed.clone(),
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
        let has = |found: &FoundRun| crate::sides::has_table(&found.run, table.compared.file);
        let both = part.sides.sides.iter().all(|side| side.runs.iter().any(has));
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
fn around<'a>(
    sides: &Sides,
    rules: Rules<'a>,
    context: &Context<'_>,
) -> Result<(Around, Vec<Compared<'a>>), CompareError> {
    let mut around = Around::default();
    let classes = table::compare(sides, &CLASSES, rules, context)?;
    if let Some(classes) = &classes {
        around.classes = write::classes_of_base(classes)?;
    }
    let chains = table::compare(sides, &CHAINS, rules, context)?;
    if let Some(chains) = &chains {
        around.holders = holders::find(chains, &around.classes)?;
    }
    Ok((around, classes.into_iter().chain(chains).collect()))
}

/// Message for a table that one side lacks.
fn lacking(sides: &Sides, table: &DiffTable) -> Option<String> {
    let has = |side: usize| {
        let side = &sides.sides[side];
        side.runs.iter().any(|found| crate::sides::has_table(&found.run, table.compared.file))
    };
    let lacks = match (has(sides::BASE), has(sides::TARGET)) {
        (true, false) => "target",
        (false, true) => "base",
        _ => return None,
    };
    Some(format!("The {lacks} has no table {}: it is not compared.", table.compared.name))
}

/// Runs without a table that others of their side have; `None` if a whole side lacks it.
fn some_lack(sides: &Sides, table: &DiffTable) -> Option<Lacking> {
    let has = |found: &FoundRun| crate::sides::has_table(&found.run, table.compared.file);
    let compared = sides.sides.iter().all(|side| side.runs.iter().any(has));
    // Runs with half-deleted folders are reported elsewhere.
    let is_told = |found: &FoundRun| sides.half_deleted.contains(&found.place);
    let lack = sides.runs().map(|(_, found)| found).filter(|found| !has(found) && !is_told(found));
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

/// Medians of the smallest effects of all subjects: on all runs, and on a tenth of the runs.
fn smallest_effects(compared: &Compared<'_>) -> Result<[Option<f64>; 2], CompareError> {
    let mut effects = [Vec::new(), Vec::new()];
    for &number in &compared.order {
        let tests = compared.row(number)?.measures[0].tests;
        effects[0].push(tests.smallest_effect);
        effects[1].push(tests.smallest_on_tenth);
    }
    Ok(effects.map(|mut effects| {
        effects.retain(|effect| !effect.is_nan());
        effects.sort_unstable_by(f64::total_cmp);
        // Upper median: at least half of the subjects show this effect.
        effects.get(effects.len() / 2).copied()
    }))
}
