//! Rules `weak-map` and `weak-map-chain`: values that weak maps keep because their keys live, and entries of which each
//! holds the key of the next. A weak map lets go of a value only after its key is gone, and a collector that follows a
//! chain of entries has to look at all entries again for each link of it.

use super::heap::{Heap, about_node};
use super::{Finding, Rule, severity};
use heaplake_kit::text::count;
use heaplake_kit::{BudgetVec, ColumnReader, Context, StageError};
use heaplake_schemas::containers::WeakEntryRow;
use heaplake_schemas::findings::Severity;
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Percent of the heap from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [50, 15, 5];
/// Links of a chain from which on it is worth knowing of, and worth a look.
const LONG: u32 = 1_000;
const VERY_LONG: u32 = 10_000;
/// Dominators of a key among which the value that holds it is looked for.
const STEPS: usize = 8;
/// Maps, and classes of values, that are told apart.
const MAPS: usize = 1 << 14;
const CLASSES: usize = 1 << 14;

pub struct WeakMaps;

/// Entries of one map.
#[derive(Default)]
struct Map {
    entries: u64,
    /// Of those values that no other value holds.
    bytes: u64,
    /// Links of the longest chain, and the key at its end.
    longest: (u32, u32),
    /// How much the value that retains most does, and its key.
    largest: (u64, u32),
}

impl Rule for WeakMaps {
    fn report(&mut self, heap: &Heap, context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        if !heap.scratch.has(columns::WEAK_ENTRY_ROW) {
            return Ok(Vec::new());
        }
        let entries = entries(heap, context)?;
        let links = links(&entries, heap, context)?;
        let mut maps: BTreeMap<u32, Map> = BTreeMap::new();
        for (entry, &links) in entries.iter().zip(links.iter()) {
            if maps.len() == MAPS && !maps.contains_key(&entry.table) {
                continue;
            }
            let bytes = heap.nodes.retained[entry.value as usize];
            let map = maps.entry(entry.table).or_default();
            map.entries += 1;
            // What is held by another value is within the bytes of that.
            if links == 1 && is_held(entry, heap) {
                map.bytes = map.bytes.saturating_add(bytes);
                map.largest = map.largest.max((bytes, entry.key));
            }
            map.longest = map.longest.max((links, entry.key));
        }
        let by_size = |map: &(&u32, &Map)| (Reverse(map.1.bytes), *map.0);
        let mut sorted: Vec<_> = maps.iter().collect();
        sorted.sort_unstable_by_key(by_size);
        let large = sorted.iter().filter_map(|&(&table, map)| retained(table, map, &entries, heap));
        let long = sorted.iter().filter_map(|&(&table, map)| chain(table, map, heap));
        Ok(large.chain(long).collect())
    }
}

/// All entries, by value; of those with the same value one.
fn entries(heap: &Heap, context: &Context<'_>) -> Result<BudgetVec<WeakEntryRow>, StageError> {
    let mut rows = ColumnReader::open(heap.scratch, columns::WEAK_ENTRY_ROW)?;
    let mut entries = context.budget.growing("findings: entries of weak maps");
    while rows.remaining() > 0 {
        entries.push(rows.next()?)?;
    }
    entries.sort_unstable_by_key(|entry: &WeakEntryRow| (entry.value, entry.key, entry.table));
    let mut kept = context.budget.growing("findings: entries of weak maps");
    for same in entries.chunk_by(|a, b| a.value == b.value) {
        kept.push(same[0])?;
    }
    Ok(kept)
}

/// Position of the entry whose value is a node or dominates it closely.
fn above(node: u32, entries: &[WeakEntryRow], heap: &Heap) -> Option<usize> {
    let mut at = node;
    for _ in 0..STEPS {
        if at == heap.facts.root.0 {
            return None;
        }
        if let Ok(found) = entries.binary_search_by_key(&at, |entry| entry.value) {
            return Some(found);
        }
        at = heap.nodes.dominator[at as usize].0;
    }
    None
}

/// For each entry how many entries there are in the chain that ends with it: its own, the one whose value holds its key,
/// and so on.
fn links(entries: &[WeakEntryRow], heap: &Heap, context: &Context<'_>) -> Result<BudgetVec<u32>, StageError> {
    let mut links = context.budget.zeroed::<u32>("findings: chains of weak maps", entries.len())?;
    let mut path: BudgetVec<u32> = context.budget.growing("findings: chains of weak maps");
    for start in 0..entries.len() {
        if start.is_multiple_of(1 << 16) {
            context.check()?;
        }
        let mut at = Some(start);
        // A value above a key dominates it, and the key its own value: ways up do not come back. Should the input be
        // odd enough, one that is on the path ends it.
        let mut known = loop {
            let Some(here) = at else { break 0 };
            match links[here] {
                0 => {}
                ON_PATH => break 0,
                known => break known,
            }
            links[here] = ON_PATH;
            path.push(here as u32)?;
            let held = is_held(&entries[here], heap);
            at = if held { above(entries[here].key, entries, heap) } else { None };
        };
        while let Some(here) = path.pop() {
            known = (known + 1).min(ON_PATH - 1);
            links[here as usize] = known;
        }
    }
    Ok(links)
}

/// Marks an entry that is being looked at.
const ON_PATH: u32 = u32::MAX;

/// Whether only the key keeps the value.
fn is_held(entry: &WeakEntryRow, heap: &Heap) -> bool {
    let up = |&at: &u32| Some(heap.nodes.dominator[at as usize].0).filter(|_| at != heap.facts.root.0);
    std::iter::successors(Some(entry.value), up).skip(1).take(STEPS).any(|at| at == entry.key)
}

/// A map whose values retain much.
fn retained(table: u32, map: &Map, entries: &[WeakEntryRow], heap: &Heap) -> Option<Finding> {
    let severity = severity(map.bytes, heap.bytes, PERCENT)?;
    let owner = heap.owner(table).unwrap_or(table);
    let mut finding = about_node("weak-map", severity, owner, heap);
    let (_, key) = map.largest;
    finding.count = map.entries;
    finding.bytes = map.bytes;
    finding.message = format!(
        "{} entries of one {} @{} keep {} because their keys live: values of {}. Their keys are kept, for example, by {}",
        count(map.entries),
        finding.subject,
        heap.nodes.id[owner as usize],
        heap.share(map.bytes),
        classes(table, entries, heap),
        heap.chain(key),
    );
    finding.next_step =
        "Find out who keeps the keys after they are done with, or delete the entries by hand.".to_owned();
    Some(finding)
}

/// The class that most values of a map have.
fn classes(table: u32, entries: &[WeakEntryRow], heap: &Heap) -> String {
    let mut classes: BTreeMap<u32, u64> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.table == table) {
        let class = heap.nodes.class[entry.value as usize].0;
        if classes.len() < CLASSES || classes.contains_key(&class) {
            *classes.entry(class).or_default() += 1;
        }
    }
    let most = classes.iter().max_by_key(|&(&class, &count)| (count, Reverse(class)));
    most.map_or_else(String::new, |(&class, _)| heap.shown_class(class))
}

/// A map with a long chain.
fn chain(table: u32, map: &Map, heap: &Heap) -> Option<Finding> {
    let (links, key) = map.longest;
    let severity = match links {
        VERY_LONG.. => Severity::Medium,
        LONG.. => Severity::Low,
        _ => return None,
    };
    let owner = heap.owner(table).unwrap_or(table);
    let mut finding = about_node("weak-map-chain", severity, owner, heap);
    finding.node = Some(key);
    finding.count = links.into();
    finding.message = format!(
        "Entries of one {} @{} are a chain of {}: the value of each holds the key of the next; at the end is {} @{}",
        finding.subject,
        heap.nodes.id[owner as usize],
        count(links.into()),
        heap.nodes.label(NodeId(key)),
        heap.nodes.id[key as usize],
    );
    finding.next_step =
        "Keep the next key out of the values, or the values in their keys: collectors look at all entries again for \
         each link."
            .to_owned();
    Some(finding)
}
