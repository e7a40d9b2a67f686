//! Rule `realms`: realms that the runtime has released but objects of the program still retain. Each has a set of all
//! global objects and its loaded code.

use super::heap::{Found, Heap};
use super::resources::{BASE, Group, Judge, Key, Words};
use super::rule::{Rule, map_bytes, severity};
use heaplake_kit::text::count;
use heaplake_schemas::findings::{Finding, Severity};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::resources::{NONE, kind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    names: &[NAME],
    working: BASE.working + map_bytes::<u32, (u64, u32)>(STEPS * REALMS),
    open: |_, _| Ok(Box::new(JUDGE)),
    ..BASE
};

const NAME: &str = "realms";
/// Minimum percent of the heap of a high, medium, low finding.
const PERCENT: [u64; 3] = [25, 10, 2];
/// Minimum number of realms, and number that makes a finding whatever they retain.
const MANY: u64 = 3;
const VERY_MANY: u64 = 10;
/// Maximum number of realms searched for a common holder, and dominators of each.
const REALMS: usize = 256;
const STEPS: usize = 64;

const JUDGE: Judge = Judge {
    kinds: &[kind::LEFT_REALM],
    least: MANY,
    claims: 1,
    key: |row| [row.node, NONE],
    findings: |groups, words| finding(groups, words).into_iter().collect(),
};

fn finding(realms: &[(Key, Group)], words: &Words<'_>) -> Option<Finding> {
    let heap = words.heap;
    let own: u64 = realms.iter().map(|(_, realm)| realm.bytes).sum();
    let (_, largest) = realms.iter().max_by_key(|(_, realm)| realm.bytes)?;
    let place = accumulation(realms, heap);
    let bytes = own.max(place.as_ref().map_or(0, |place| place.bytes));
    let severity = match severity(bytes, heap.bytes, PERCENT) {
        None if realms.len() as u64 >= VERY_MANY => Severity::Low,
        severity => severity?,
    };
    let called = heap.metadata.roles.resources.realms.clone();
    let found = Found { rule: NAME, severity, count: realms.len() as u64, bytes };
    let mut finding = found.about_node(largest.largest.node, heap);
    finding.message = format!(
        "{} {called} are left that only objects of the program keep; they retain {}",
        count(finding.count),
        heap.share(bytes),
    );
    finding.subject = called;
    let held = place.map(|place| (place.holder, place.count)).or_else(|| common_holder(realms));
    match held {
        Some((holder, held)) => {
            finding.node = Some(holder);
            finding.class_id = Some(heap.nodes.class.at(holder as usize).0);
            finding.message += &format!(
                ". {} of them are held by one {} @{}: {}",
                count(held),
                heap.nodes.label(NodeId(holder)),
                heap.nodes.id.at(holder as usize),
                words.heap.chain(holder),
            );
        }
        None => finding.message += &format!(", for example {}", heap.chain(largest.largest.node)),
    }
    finding.next_step = heap.metadata.roles.resources.realm_advice.clone();
    Some(finding)
}

/// Returns the most frequent holder of realms, and its number of realms.
fn common_holder(realms: &[(Key, Group)]) -> Option<(u32, u64)> {
    let mut held: BTreeMap<u32, u64> = BTreeMap::new();
    for (_, realm) in realms.iter().filter(|(_, realm)| realm.largest.holder != NONE) {
        *held.entry(realm.largest.holder).or_default() += 1;
    }
    held.into_iter().max_by_key(|&(holder, count)| (count, Reverse(holder)))
}

/// The place where realms accumulate.
struct Accumulation {
    /// The nearest dominator of most of the realms.
    holder: u32,
    /// Number of realms that it dominates, or holds besides a temporary handle.
    count: u64,
    /// Retained bytes of its children in the dominator tree with a realm below, and of the other realms.
    bytes: u64,
}

/// Returns the nearest dominator of more than half of the realms, if it is an object of the program.
fn accumulation(groups: &[(Key, Group)], heap: &Heap) -> Option<Accumulation> {
    let realms: Vec<u32> = groups.iter().take(REALMS).map(|([node, _], _)| *node).collect();
    // Number of realms below each dominator.
    let mut above: BTreeMap<u32, u64> = BTreeMap::new();
    for &realm in &realms {
        dominators(realm, heap).for_each(|at| *above.entry(at).or_default() += 1);
    }
    let most = |at: u32| above.get(&at).is_some_and(|&held| 2 * held > realms.len() as u64);
    let holder = realms.iter().find_map(|&realm| dominators(realm, heap).find(|&at| most(at)))?;
    if heap.is_part(heap.nodes.kind.at(holder as usize), heap.nodes.class.at(holder as usize).0) {
        return None;
    }
    let mut children = BTreeSet::new();
    for &realm in &realms {
        let mut below = realm;
        for at in dominators(realm, heap) {
            if at == holder {
                children.insert(below);
                break;
            }
            below = at;
        }
    }
    let retained = |node: u32| heap.nodes.retained.at(node as usize);
    let mut place = Accumulation { holder, count: above[&holder], bytes: children.into_iter().map(retained).sum() };
    for ([realm, _], group) in groups.iter().take(REALMS) {
        if group.largest.holder == holder && dominators(*realm, heap).all(|at| at != holder) {
            place.count += 1;
            place.bytes += retained(*realm);
        }
    }
    Some(place)
}

/// Returns the dominators of a node, the nearest first, without the root.
fn dominators<'a>(node: u32, heap: &'a Heap<'_>) -> impl Iterator<Item = u32> + 'a {
    let above =
        move |&at: &u32| Some(heap.nodes.dominator.at(at as usize).0).filter(|&next| next != heap.metadata.root.0);
    std::iter::successors(above(&node), above).take(STEPS)
}
