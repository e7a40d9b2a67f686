//! Rule `old-objects-by-site`: old objects of one type that one function allocated, if the recording has no chain to
//! them. Like `jfr view memory-leaks-by-site`, it shows where live objects come from.

use super::held_old_objects::{self, ages};
use super::old_objects::Site;
use super::rule::Rule;
use super::trace::Trace;
use crate::findings::{Found, shorten};
use heaplake_kit::text::{count, size};
use heaplake_schemas::findings::{Finding, Severity};
use std::cmp::Reverse;

pub(super) const RULE: Rule = Rule { name: NAME, find };

pub(super) const NAME: &str = "old-objects-by-site";
/// Maximum characters of a function.
const FUNCTION: usize = 200;

fn find(trace: &Trace) -> Vec<Finding> {
    let all = &trace.old_objects;
    let mut sites: Vec<&Site> = all.sites.iter().collect();
    sites.sort_by_key(|site| Reverse(site.count));
    let severity = |site: &Site| held_old_objects::severity((site.count, all.without_chain), site.ages, all.oldest);
    sites.iter().filter_map(|site| Some(about(site, severity(site)?, trace))).collect()
}

fn about(site: &Site, severity: Severity, trace: &Trace) -> Finding {
    let found = Found { rule: RULE.name, severity, count: site.count, bytes: site.bytes };
    let mut finding = found.about_type(site.type_id, trace);
    let bytes = if site.bytes == 0 { String::new() } else { format!(", {}", size(site.bytes)) };
    let caller =
        site.caller.as_deref().map_or_else(String::new, |name| format!(", called by {}", shorten(name, FUNCTION)));
    finding.message = format!(
        "{} × {} of {} old objects{bytes}{} are from {}{caller}",
        count(site.count),
        finding.subject,
        count(trace.old_objects.without_chain),
        ages(site.ages),
        shorten(&site.function, FUNCTION),
    );
    "Find who keeps what this function makes: the recording has chains with jcmd PID JFR.dump path-to-gc-roots=true, a \
     heap dump has all."
        .clone_into(&mut finding.next_step);
    finding
}
