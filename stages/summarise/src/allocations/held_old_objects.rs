//! Rule `held-old-objects`: several old objects of one type with the same chain. A recording of Java samples some of
//! all allocated objects and keeps those that stay alive. So a growing structure shows up again and again, with all
//! ages; one that was filled once has one age.

use super::old_objects::Group;
use super::rule::Rule;
use super::trace::Trace;
use crate::findings::{Found, shorten};
use heaplake_kit::text::{count, size};
use heaplake_schemas::findings::{Finding, Severity};
use std::cmp::Reverse;

pub(super) const RULE: Rule = Rule { name: "held-old-objects", find };

/// Minimum number of samples of a finding, and of a high one.
const LEAST: [u64; 2] = [3, 10];
/// Minimum percent of all held samples of a finding, and of a high one.
const PERCENT: [u64; 2] = [10, 50];
/// Minimum spread of the ages of a growing structure, percent of the age of the oldest sample.
const SPREAD: f64 = 25.0;
/// Maximum characters of a step.
const STEP: usize = 200;
/// Steps shown at each end.
const ENDS: usize = 12;

fn find(trace: &Trace) -> Vec<Finding> {
    let all = &trace.old_objects;
    let mut found: Vec<(u64, Finding)> = all
        .groups
        .iter()
        .filter_map(|group| {
            Some((group.count, about(group, severity((group.count, all.held), group.ages, all.oldest)?, trace)))
        })
        .collect();
    // Before JDK 19 there are no bytes to sort by.
    found.sort_by_key(|&(count, _)| Reverse(count));
    found.into_iter().map(|(_, finding)| finding).collect()
}

/// Severity of `count` samples with the same chain out of `all`, with the ages of the youngest and the oldest of these
/// samples, and of the oldest of all.
pub(super) fn severity(
    (count, all): (u64, u64),
    (youngest, oldest): (f64, f64),
    oldest_of_all: f64,
) -> Option<Severity> {
    let at_least = |of: usize| count >= LEAST[of] && count * 100 >= all * PERCENT[of];
    // False without ages.
    let grows = (oldest - youngest) * 100.0 >= oldest_of_all * SPREAD && oldest > youngest;
    match grows {
        _ if !at_least(0) => None,
        true if at_least(1) => Some(Severity::High),
        true => Some(Severity::Medium),
        false => Some(Severity::Low),
    }
}

fn about(group: &Group, severity: Severity, trace: &Trace) -> Finding {
    let found = Found { rule: RULE.name, severity, count: group.count, bytes: group.bytes };
    let mut finding = found.about_type(group.type_id, trace);
    finding.path = chain(group);
    finding.stable_path.clone_from(&finding.path);
    let ages = ages(group.ages);
    let bytes = if group.bytes == 0 { String::new() } else { format!(", {}", size(group.bytes)) };
    let function = group.function.as_deref().map(|name| shorten(name, STEP));
    let function = function.map_or_else(String::new, |name| format!("; the oldest is from {name}"));
    finding.message = format!(
        "{} × {} of {} old objects that something holds{bytes}{}{function}: {}",
        count(group.count),
        finding.subject,
        count(trace.old_objects.held),
        ages.trim_end_matches(','),
        finding.path.join(" → ")
    );
    "If they should be gone, follow the path from its end: the first holder that should have let go is the place to fix. \
     What is filled once, or has a limit, is no leak."
        .clone_into(&mut finding.next_step);
    finding
}

/// Formats the ages of the youngest and the oldest of some samples.
pub(super) fn ages((youngest, oldest): (f64, f64)) -> String {
    match oldest.is_finite() {
        true if youngest < oldest => format!(", {youngest:.1} s to {oldest:.1} s old,"),
        true => format!(", {oldest:.1} s old,"),
        false => String::new(),
    }
}

/// The chain; a very long one without its middle.
fn chain(group: &Group) -> Vec<String> {
    let steps = &group.chain;
    let short = |steps: &[String]| steps.iter().map(|step| shorten(step, STEP)).collect::<Vec<_>>();
    if steps.len() <= 2 * ENDS + 1 {
        return short(steps);
    }
    let (first, last) = (short(&steps[..ENDS]), short(&steps[steps.len() - ENDS..]));
    first.into_iter().chain(["…".to_owned()]).chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Severity of `count` out of 20 held samples, the oldest 100 s old.
    fn of(count: u64, ages: (f64, f64)) -> Option<Severity> {
        severity((count, 20), ages, 100.0)
    }

    #[test]
    fn what_grows_weighs_more_than_what_was_filled_once() {
        assert_eq!(of(10, (1.0, 90.0)), Some(Severity::High));
        assert_eq!(of(9, (1.0, 90.0)), Some(Severity::Medium));
        assert_eq!(of(20, (80.0, 100.0)), Some(Severity::Low));
        assert_eq!(of(20, (75.0, 100.0)), Some(Severity::High));
        assert_eq!(of(2, (1.0, 90.0)), None);
        // Without ages growth is unknown.
        assert_eq!(of(20, (f64::INFINITY, f64::NEG_INFINITY)), Some(Severity::Low));
    }
}
