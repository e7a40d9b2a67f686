//! Rule `allocation-hot-spot`: functions that allocate a large part of all bytes themselves. Their callees do not
//! count: else the outermost function would always be the hottest.

use super::rule::Rule;
use super::trace::Trace;
use crate::findings::{Found, severity};
use heaplake_kit::text::count;
use heaplake_schemas::findings::{Finding, Scope};

pub(super) const RULE: Rule = Rule { name: "allocation-hot-spot", find };

/// Minimum percent of all bytes of a high, medium, low finding.
const PERCENT: [u64; 3] = [40, 20, 10];

fn find(trace: &Trace) -> Vec<Finding> {
    let hot = trace.functions.iter().filter_map(|row| {
        let severity = severity(row.exclusive_bytes, trace.bytes, PERCENT)?;
        let found = Found { rule: RULE.name, severity, count: row.exclusive_count, bytes: row.exclusive_bytes };
        let mut finding = found.about(Scope::Function, trace.function(row.function_id));
        finding.function_id = Some(row.function_id);
        finding.message = format!(
            "{} {} {} itself{}{}{}",
            finding.subject,
            if trace.is_alive { "allocated" } else { "allocates" },
            trace.share(row.exclusive_bytes),
            if trace.is_counted { format!(", {} objects", count(row.exclusive_count)) } else { String::new() },
            trace.allocates(row.function_id),
            trace.called_by(row.function_id),
        );
        finding.next_step = match trace.is_alive {
            true => {
                "See who keeps what it made: a snapshot of the heap tells; the flame graph of the report shows its \
                     callers."
            }
            false => {
                "Call it less often, reuse what it makes, or use values and spans instead of objects; the flame \
                      graph of the report shows its callers."
            }
        }
        .to_owned();
        Some(finding)
    });
    hot.collect()
}
