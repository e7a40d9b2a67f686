//! Rule `listeners`: functions that were added to the listeners of an event again and again, with what they keep.

use super::heap::about_node;
use super::resources::{BASE, Group, Judge, Key, Words};
use super::rule::Rule;
use heaplake_kit::text::count;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::resources::{NONE, kind};

/// The rule.
pub const RULE: Rule = Rule { names: &[NAME], open: |_, _| Ok(Box::new(JUDGE)), ..BASE };

const NAME: &str = "listeners";
/// Listeners of one event from which on there are many, and from which on that is a finding whatever they retain.
const MANY: u64 = 50;
const VERY_MANY: u64 = 1_000;

const JUDGE: Judge = Judge {
    kinds: &[kind::LISTENER],
    least: MANY,
    claims: MANY,
    // Those of which nobody knows what they listen to go together by their function.
    key: |row| if row.holder == NONE { [NONE, row.place] } else { [row.holder, row.name] },
    findings: |groups, words| groups.iter().filter_map(|found| finding(found, words)).collect(),
};

fn finding((key, group): &(Key, Group), words: &Words<'_>) -> Option<Finding> {
    let heap = words.heap;
    let severity = group.severity([MANY, VERY_MANY], heap)?;
    let row = &group.largest;
    let [holder, name] = *key;
    let mut finding = about_node(NAME, severity, if holder == NONE { row.node } else { holder }, heap);
    let on = if holder == NONE {
        String::new()
    } else {
        let event = words.name(name);
        finding.subject = format!("{} {event:?}", finding.subject);
        format!(" of {event:?} on one {} @{}", heap.nodes.label(NodeId(holder)), heap.nodes.id.at(holder as usize))
    };
    finding.count = group.count;
    finding.bytes = group.bytes;
    let which = if group.same_place { "each is" } else { "such as" };
    finding.message = format!(
        "{} listeners{on} retain {}; {which} {}: {}",
        count(group.count),
        heap.share(group.bytes),
        words.function(row),
        words.heap.chain(row.node),
    );
    finding.next_step = heap.facts.roles.resources.listener_advice.clone();
    finding.place = words.place(row);
    Some(finding)
}
