//! Rule `pending-promises`: functions that wait for promises that never settle, with their retained objects.

use super::heap::Found;
use super::resources::{BASE, Group, Judge, Key, Words};
use super::rule::Rule;
use heaplake_kit::text::count;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::resources::{NONE, kind};

pub(super) const RULE: Rule = Rule { names: &[NAME], open: |_, _| Ok(Box::new(JUDGE)), ..BASE };

const NAME: &str = "pending-promises";
/// Minimum number of waiting calls of one function, and number that makes a finding whatever they retain.
const MANY: u64 = 50;
const VERY_MANY: u64 = 5_000;

const JUDGE: Judge = Judge {
    kinds: &[kind::WAITING],
    least: MANY,
    claims: MANY,
    key: |row| [row.place, NONE],
    findings: |groups, words| groups.iter().filter_map(|found| finding(found, words)).collect(),
};

fn finding((_, group): &(Key, Group), words: &Words<'_>) -> Option<Finding> {
    let heap = words.heap;
    let severity = group.severity([MANY, VERY_MANY], heap)?;
    let row = &group.largest;
    let found = Found { rule: NAME, severity, count: group.count, bytes: group.bytes };
    let mut finding = found.about_node(row.holder, heap);
    let function = words.function(row);
    finding.subject.clone_from(&function);
    finding.message = format!(
        "{} calls of {function} wait for promises that are not settled; they retain {}, for example at {}",
        count(group.count),
        heap.share(group.bytes),
        words.heap.chain(row.holder),
    );
    finding.next_step = heap.metadata.roles.resources.promise_advice.clone();
    finding.place = words.place(row);
    Some(finding)
}
