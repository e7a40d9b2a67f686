//! Stage `allocation findings`: observations about a replayed trace that deserve attention.
//!
//! * Computes: the findings of all rules. A rule is one file here: the pattern, its thresholds, its message. Thresholds
//!   are fractions of all allocated bytes, with a floor in bytes.
//! * Resident memory: 4 bytes per function; the rows of types and functions with a thousandth of all bytes or more,
//!   since no rule reads others, and 96 bytes per caller of these functions; old objects by type and chain, 256 bytes
//!   each and the text of the chain four times.
//! * Passes over disk: two over types, functions and callers each, one over lifetimes, sites and old objects.
//! * Worst case: linear.
//! * Fails when: scratch cannot be read or written.
//! * Determinism: order of the rows.
//! * Reference: "mid-life crisis" is a word of Rico Mariani's for objects that die in the oldest generation.
//!
//! # How to add a rule
//!
//! 1. Write a file of this folder with a constant `RULE` of type `Rule`: the name of its findings, and a function from
//!    a `Trace` to them. `hot_types.rs` is a short example.
//! 2. Add its `mod` line and a line in [`RULES`].
//!
//! A rule finds nothing in a trace without its data.

mod churn;
mod held_old_objects;
mod hot_functions;
mod hot_types;
mod induced;
mod large_objects;
mod mid_life;
mod old_objects;
mod old_objects_by_site;
mod pinned_objects;
mod rule;
mod trace;

use crate::findings::rank;
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{Job, Stage, StageError, Stats};
use heaplake_schemas::options::TraceTable;
use heaplake_schemas::replay;
use heaplake_schemas::scratch::documents;
use rule::Rule;
use trace::Trace;

/// All rules, in the order of their reports.
const RULES: &[Rule] = &[
    hot_functions::RULE,
    hot_types::RULE,
    mid_life::RULE,
    large_objects::RULE,
    pinned_objects::RULE,
    induced::RULE,
    held_old_objects::RULE,
    old_objects_by_site::RULE,
];

/// Rules about live objects: they precede those of the same severity about allocations.
const ALIVE: [&str; 2] = [held_old_objects::RULE.name, old_objects_by_site::NAME];

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "allocation findings",
    when: |setting| setting.traces(TraceTable::Findings),
    reads: &[
        document(replay::METADATA),
        column(replay::TYPES),
        column(replay::FUNCTIONS),
        column(replay::CALLERS),
        column(replay::LIFETIMES).if_any(),
        column(replay::SITES).if_any(),
        column(replay::COLLECTIONS),
        texts(replay::TYPE_NAMES),
        texts(replay::STRINGS),
        column(replay::OLD_OBJECTS).if_any(),
        texts(replay::RECORDING_TEXTS).if_any(),
    ],
    writes: &[document(documents::FINDINGS)],
    fixed: 8 << 20,
    version: 2,
    passes: "rows of types and functions, sites, callers and old objects once",
    run,
    ..Stage::NEW
};

/// Maximum number of findings of one rule.
const MOST_OF_A_RULE: usize = 10;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    context.progress.begin(STAGE.name, RULES.len() as u64);
    let trace = Trace::read(job)?;
    let mut findings = Vec::new();
    for rule in RULES {
        let mut found = (rule.find)(&trace);
        rank(&mut found);
        found.truncate(MOST_OF_A_RULE);
        findings.append(&mut found);
        context.step(1)?;
    }
    rank(&mut findings);
    findings.sort_by_key(|finding| (finding.severity, !ALIVE.contains(&&*finding.rule)));
    scratch.write_document(documents::FINDINGS, &findings)?;
    context.progress.end();
    Ok(Stats { rows: findings.len() as u64, spilled_bytes: 0 })
}
