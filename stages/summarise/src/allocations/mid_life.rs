//! Rule `mid-life-crisis`: types with objects that survive into generation 2 and die there. Garbage collections have
//! moved them twice by then, in vain, and only a full collection frees them.

use super::rule::Rule;
use super::trace::Trace;
use crate::findings::{Found, severity};
use heaplake_kit::text::count;
use heaplake_schemas::findings::Finding;

pub(super) const RULE: Rule = Rule { name: "mid-life-crisis", find };

/// Minimum percent of all bytes of a high, medium, low finding.
const PERCENT: [u64; 3] = [20, 5, 1];

fn find(trace: &Trace) -> Vec<Finding> {
    let late = trace.types.iter().filter_map(|row| {
        let died = trace.died(row.type_id, "2")?;
        let severity = severity(died.bytes, trace.bytes, PERCENT)?;
        let found = Found { rule: RULE.name, severity, count: died.count, bytes: died.bytes };
        let mut finding = found.about_type(row.type_id, trace);
        let part = 100.0 * died.count as f64 / row.allocated_count.max(1) as f64;
        finding.message = format!(
            "{} × {} died in generation 2, {}: {part:.0} % of those allocated, after {:.1} collections on average{}",
            count(died.count),
            finding.subject,
            trace.share(died.bytes),
            died.mean_age_gcs,
            trace.made_by(row.type_id, "2"),
        );
        "Let them die young (give references up sooner, work in smaller batches) or keep them for good (a pool)."
            .clone_into(&mut finding.next_step);
        Some(finding)
    });
    late.collect()
}
