//! Stage `allocation findings`: what in the numbers of a replayed trace is worth a look.
//!
//! * Computes: the findings of all rules. A rule is one file here: what it looks for, when that matters, what it says.
//!   Thresholds are parts of all that was allocated, with a floor in bytes.
//! * Reads: `replay.{type,function,lifetime,site,caller,collection}`, names.
//! * Writes: the document of findings, the most severe first.
//! * Resident memory: the rows of types, functions and lifetimes, 400 bytes per type and 250 per function; 64 per
//!   pair of an allocating function and its caller.
//! * Passes over disk: one over sites and callers each.
//! * Worst case: linear.
//! * Fails when: scratch cannot be read or written.
//! * Determinism: order of the rows.
//! * Reference: "mid-life crisis" is a word of Rico Mariani's for objects that die in the oldest generation.

mod churn;
mod hot_functions;
mod hot_types;
mod induced;
mod mid_life;
mod trace;

use crate::findings::rank;
use heaplake_kit::{Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::findings::Finding;
use heaplake_schemas::scratch::documents;
use trace::Trace;

/// What the plan knows of this stage.
pub const STAGE: StageInfo =
    StageInfo::streaming("allocation findings", 8 << 20, "rows of types and functions, sites and callers once");

/// Findings of one rule that are kept.
const MOST_OF_A_RULE: usize = 10;

/// Says what it found.
type Rule = fn(&Trace) -> Vec<Finding>;

/// All rules. Those that a trace tells nothing for find nothing.
const RULES: [Rule; 6] =
    [hot_functions::find, hot_types::find, mid_life::find, churn::large, churn::pinned, induced::find];

/// Finds.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    context.progress.begin(STAGE.name, RULES.len() as u64);
    let trace = Trace::read(scratch, context)?;
    let mut findings = Vec::new();
    for rule in RULES {
        let mut found = rule(&trace);
        rank(&mut found);
        found.truncate(MOST_OF_A_RULE);
        findings.append(&mut found);
        context.step(1)?;
    }
    rank(&mut findings);
    scratch.write_document(documents::FINDINGS, &findings)?;
    context.progress.end();
    Ok(Stats { rows: findings.len() as u64, spilled_bytes: 0 })
}
