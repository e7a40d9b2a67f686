//! Rule `induced-collections`: many garbage collections that the program asked for.

use super::rule::Rule;
use super::trace::Trace;
use crate::findings::Found;
use heaplake_kit::text::count;
use heaplake_schemas::findings::{Finding, Scope, Severity};

pub(super) const RULE: Rule = Rule { name: "induced-collections", find };

/// Minimum number of collections.
const LEAST: u64 = 10;
/// Minimum percent of all collections of a medium, low finding.
const PERCENT: [u64; 2] = [50, 10];

fn find(trace: &Trace) -> Vec<Finding> {
    let (all, induced) = trace.collections;
    let at_least = |percent: u64| induced * 100 >= all * percent;
    if induced < LEAST || !at_least(PERCENT[1]) {
        return Vec::new();
    }
    let severity = if at_least(PERCENT[0]) { Severity::Medium } else { Severity::Low };
    let found = Found { rule: RULE.name, severity, count: induced, bytes: 0 };
    let mut finding = found.about(Scope::Trace, "collections");
    finding.message = format!("{} of {} collections were asked for by the program", count(induced), count(all));
    "Leave collections to the runtime: look for GC.Collect or System.gc in the program and its libraries."
        .clone_into(&mut finding.next_step);
    vec![finding]
}
