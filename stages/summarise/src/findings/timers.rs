//! Rule `timers`: timers that were never cleared, with the objects that their functions retain.

use super::heap::Found;
use super::resources::{BASE, BITS, Group, Judge, Key, Words};
use super::rule::Rule;
use heaplake_kit::text::count;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::resources::kind;

pub(super) const RULE: Rule = Rule { names: &[NAME], bits_per_node: BITS, open: |_, _| Ok(Box::new(JUDGE)), ..BASE };

const NAME: &str = "timers";
/// Minimum number of timers of one function, and number that makes a finding whatever they retain.
const MANY: u64 = 20;
const VERY_MANY: u64 = 5_000;

const JUDGE: Judge = Judge {
    kinds: &[kind::TIMEOUT, kind::INTERVAL, kind::IMMEDIATE],
    least: MANY,
    claims: MANY,
    key: |row| [row.kind, row.place],
    findings: |groups, words| groups.iter().filter_map(|found| finding(found, words)).collect(),
};

fn finding((_, group): &(Key, Group), words: &Words<'_>) -> Option<Finding> {
    let heap = words.heap;
    let severity = group.severity([MANY, VERY_MANY], heap)?;
    let row = &group.largest;
    let found = Found { rule: NAME, severity, count: group.count, bytes: group.bytes };
    let mut finding = found.about_node(row.node, heap);
    let what = match row.kind {
        kind::INTERVAL => "intervals",
        kind::IMMEDIATE => "immediates",
        _ => "timeouts",
    };
    let function = words.function(row);
    finding.subject.clone_from(&function);
    finding.message = format!(
        "{} {what} are set that call {function}; they retain {}, for example {}",
        count(group.count),
        heap.share(group.bytes),
        words.heap.chain(row.node),
    );
    // Immediates need no clearing: the program has not reached them yet.
    if row.kind != kind::IMMEDIATE {
        finding.next_step = heap.metadata.roles.resources.timer_advice.clone();
    }
    finding.place = words.place(row);
    Some(finding)
}
