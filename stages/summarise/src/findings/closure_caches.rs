//! Rule `closure-cache`: a container that a function keeps in a variable, such as the results of a memoised function.

use super::heap::Found;
use super::resources::{BASE, Group, Judge, Key, Words};
use super::rule::{Rule, severity};
use heaplake_kit::text::count;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::resources::kind;

pub(super) const RULE: Rule = Rule { names: &[NAME], open: |_, _| Ok(Box::new(JUDGE)), ..BASE };

pub(super) const NAME: &str = "closure-cache";
/// Minimum percent of the heap of a high, medium, low finding.
const PERCENT: [u64; 3] = [25, 10, 5];
/// Minimum number of entries.
const MANY: u64 = 1_000;

const JUDGE: Judge = Judge {
    kinds: &[kind::VARIABLE],
    least: 1,
    claims: 1,
    key: |row| [row.node, row.name],
    findings: |groups, words| groups.iter().filter_map(|found| finding(found, words)).collect(),
};

fn finding(([_, name], group): &(Key, Group), words: &Words<'_>) -> Option<Finding> {
    let heap = words.heap;
    let row = &group.largest;
    // A container in a field as well has a better name than that of the variable: an export of a module, for one.
    if !heap.is_reached_by_variable(row.node) {
        return None;
    }
    let severity = severity(group.bytes, heap.bytes, PERCENT).filter(|_| u64::from(row.entries) >= MANY)?;
    let variable = words.name(*name);
    let function = words.function(row);
    let found = Found { rule: NAME, severity, count: row.entries.into(), bytes: group.bytes };
    let mut finding = found.about_node(row.node, heap);
    let class = std::mem::replace(&mut finding.subject, variable.clone());
    let scope = words.text(row.scope).map(|scope| format!(" of {scope}")).unwrap_or_default();
    finding.message = format!(
        "The variable {variable}{scope}, which {function} uses, is {} {class} with {} entries and retains {}: {}",
        if class.starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" },
        count(finding.count),
        heap.share(group.bytes),
        words.heap.chain(row.node),
    );
    finding.next_step =
        format!("If {variable} only ever grows, bound it: drop the oldest entries, or clear it when it is done with.");
    finding.place = words.place(row);
    Some(finding)
}
