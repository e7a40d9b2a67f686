//! Rule `allocation-hot-spot`: functions that allocate a large part of everything themselves. What they call is not
//! counted: else the outermost function would always be the hottest.

use super::rule::Rule;
use super::trace::{Trace, about_function};
use crate::findings::severity;
use heaplake_kit::text::count;
use heaplake_schemas::findings::Finding;

/// The rule.
pub const RULE: Rule = Rule { name: "allocation-hot-spot", find };

/// Percent of all bytes from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [40, 20, 10];

fn find(trace: &Trace) -> Vec<Finding> {
    let hot = trace.functions.iter().filter_map(|row| {
        let severity = severity(row.exclusive_bytes, trace.bytes, PERCENT)?;
        let mut finding = about_function(RULE.name, severity, row.function_id, trace);
        (finding.count, finding.bytes) = (row.exclusive_count, row.exclusive_bytes);
        finding.message = format!(
            "{} allocates {} itself{}{}{}",
            finding.subject,
            trace.share(row.exclusive_bytes),
            if trace.is_counted { format!(", {} objects", count(row.exclusive_count)) } else { String::new() },
            trace.allocates(row.function_id),
            trace.called_by(row.function_id),
        );
        "Call it less often, reuse what it makes, or use values and spans instead of objects; the flame graph of the \
         report shows its callers."
            .clone_into(&mut finding.next_step);
        Some(finding)
    });
    hot.collect()
}
