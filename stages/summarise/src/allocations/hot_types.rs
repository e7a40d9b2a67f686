//! Rule `allocated-most`: types that are a large part of all allocated bytes.

use super::rule::Rule;
use super::trace::{Trace, bytes_of};
use crate::findings::{Found, severity};
use heaplake_schemas::findings::Finding;
use heaplake_schemas::replay::ABSENT;

pub(super) const RULE: Rule = Rule { name: "allocated-most", find };

/// Minimum percent of all bytes of a high, medium, low finding.
const PERCENT: [u64; 3] = [50, 25, 10];

fn find(trace: &Trace) -> Vec<Finding> {
    if trace.types.len() < 2 {
        // A format without types has one type for all objects.
        return Vec::new();
    }
    let large = trace.types.iter().filter_map(|row| {
        let bytes = bytes_of(row);
        let severity = severity(bytes, trace.bytes, PERCENT)?;
        let count = if row.allocated_count == ABSENT { row.sampled_count } else { row.allocated_count };
        let mut finding = Found { rule: RULE.name, severity, count, bytes }.about_type(row.type_id, trace);
        finding.message = format!(
            "{}{} are {}{}",
            trace.objects(row.allocated_count),
            finding.subject,
            trace.share(bytes),
            trace.allocated_by(row.type_id)
        );
        "Make fewer of them: keep and reuse them, hand out slices of one, or use values where they are short-lived."
            .clone_into(&mut finding.next_step);
        Some(finding)
    });
    large.collect()
}
