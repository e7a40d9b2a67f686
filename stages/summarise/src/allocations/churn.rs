//! Shared by the rules about short-lived objects in the heaps of large and of pinned objects. Those heaps are collected
//! with generation 2 only, and never compacted.

use super::trace::Trace;
use crate::findings::{Found, severity};
use heaplake_kit::text::{count, size};
use heaplake_schemas::findings::Finding;

/// Minimum percent of all bytes of a high, medium, low finding.
const PERCENT: [u64; 3] = [25, 10, 2];

/// Finds types with many objects that die in such a generation.
pub(super) fn churn(trace: &Trace, rule: &str, generation: &str, advice: &str) -> Vec<Finding> {
    let gone = trace.types.iter().filter_map(|row| {
        let died = trace.died(row.type_id, generation)?;
        let severity = severity(died.bytes, trace.bytes, PERCENT)?;
        let found = Found { rule, severity, count: died.count, bytes: died.bytes };
        let mut finding = found.about_type(row.type_id, trace);
        finding.message = format!(
            "{} × {} of {} on average came and went in the heap of {generation} objects, {}, which only collections of \
             generation 2 clear{}",
            count(died.count),
            finding.subject,
            size(died.bytes / died.count.max(1)),
            trace.share(died.bytes),
            trace.made_by(row.type_id, generation),
        );
        advice.clone_into(&mut finding.next_step);
        Some(finding)
    });
    gone.collect()
}
