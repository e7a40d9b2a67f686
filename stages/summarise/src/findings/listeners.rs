//! Rule `listeners`: functions added to the listeners of an event again and again, with their retained objects.

use super::heap::{Found, Heap};
use super::resources::{BASE, Group, Judge, Key, Words};
use super::rule::Rule;
use heaplake_kit::text::count;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::resources::{NONE, kind};

pub(super) const RULE: Rule = Rule { names: &[NAME], open: |_, _| Ok(Box::new(JUDGE)), ..BASE };

const NAME: &str = "listeners";
/// Minimum number of listeners of one event, and number that makes a finding whatever they retain.
const MANY: u64 = 50;
const VERY_MANY: u64 = 1_000;

/// Events shown besides the first one, and maximum steps from a listener to its emitter.
const SHOWN: usize = 2;
const STEPS: usize = 16;

const JUDGE: Judge = Judge {
    kinds: &[kind::LISTENER],
    least: MANY,
    claims: MANY,
    // Listeners of an unknown event are grouped by their function.
    key: |row| if row.holder == NONE { [NONE, row.place] } else { [row.holder, row.name] },
    findings: |groups, words| by_holder(groups, words),
};

/// Merges the events of one emitter: listeners of two events may share objects, which neither event then retains.
fn by_holder(groups: &[(Key, Group)], words: &Words<'_>) -> Vec<Finding> {
    let same = |a: &(Key, Group), b: &(Key, Group)| a.0[0] == b.0[0] && a.0[0] != NONE;
    groups.chunk_by(same).filter_map(|events| finding(events, words)).collect()
}

/// Bytes reached only through the listeners of an emitter: its table of events dominates them, even if listeners share
/// them. `node` is one of the listeners.
fn dominated(holder: u32, node: u32, heap: &Heap) -> u64 {
    let above = |&at: &u32| heap.tree.as_ref().and_then(|tree| tree.parent(at).get());
    let path = std::iter::successors(Some(node), above).take(STEPS).take_while(|&at| at != holder);
    path.last().filter(|&table| table != node).map_or(0, |table| heap.nodes.retained.at(table as usize))
}

fn finding(events: &[(Key, Group)], words: &Words<'_>) -> Option<Finding> {
    let heap = words.heap;
    let ([holder, name], most) = events.iter().max_by_key(|(_, group)| (group.count, group.bytes))?;
    let (holder, name) = (*holder, *name);
    let mut group = *most;
    for (_, other) in events.iter().filter(|([_, event], _)| *event != name) {
        group.count += other.count;
        group.bytes = group.bytes.saturating_add(other.bytes);
        group.same_place &= other.same_place && other.largest.place == most.largest.place;
    }
    if holder != NONE {
        group.bytes = group.bytes.max(dominated(holder, most.largest.node, heap));
    }
    let severity = group.severity([MANY, VERY_MANY], heap)?;
    let row = &group.largest;
    let found = Found { rule: NAME, severity, count: group.count, bytes: group.bytes };
    let mut finding = found.about_node(if holder == NONE { row.node } else { holder }, heap);
    let on = if holder == NONE {
        String::new()
    } else {
        let event = words.name(name);
        finding.subject = format!("{} {event:?}", finding.subject);
        // Shows events with at least a tenth of the listeners.
        let told = |(key, other): &&(Key, Group)| key[1] != name && 10 * other.count >= most.count;
        let others: Vec<String> = events.iter().filter(told).take(SHOWN).map(|(key, _)| words.name(key[1])).collect();
        let others: String = others.iter().map(|event| format!(" and {event:?}")).collect();
        format!(
            " of {event:?}{others} on one {} @{}",
            heap.nodes.label(NodeId(holder)),
            heap.nodes.id.at(holder as usize)
        )
    };
    let which = if group.same_place { "each is" } else { "such as" };
    finding.message = format!(
        "{} listeners{on} retain {}; {which} {}: {}",
        count(group.count),
        heap.share(group.bytes),
        words.function(row),
        words.heap.chain(row.node),
    );
    finding.next_step = heap.metadata.roles.resources.listener_advice.clone();
    finding.place = words.place(row);
    Some(finding)
}
