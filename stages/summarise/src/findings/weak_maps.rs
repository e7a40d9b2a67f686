//! Rules `weak-map` and `weak-map-chain`: values that weak maps keep because their keys live, and chains of entries, in
//! which each value retains the key of the next. A weak map releases a value only after its key is gone, and a
//! collector scans all entries again for each link of a chain.

use super::heap::{Found, Heap};
use super::rule::{Detector, Rule, bounded, list_bytes, map_bytes, severity};
use heaplake_kit::access::{column, per_node};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::text::count;
use heaplake_kit::{ArrayPlan, BudgetVec, ReadAt, StageError, on_resident};
use heaplake_schemas::containers::WeakEntryRow;
use heaplake_schemas::findings::{Finding, Severity};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    names: &[RETAINED, CHAIN],
    reads: &[column(columns::WEAK_ENTRY_ROW).if_any()],
    arrays: &[per_node::<NodeId>(), per_node::<u64>()],
    working: map_bytes::<u32, Map>(MAPS) + map_bytes::<u32, u64>(CLASSES),
    open: |_, _| Ok(Box::new(WeakMaps)),
    ..Rule::NEW
};

const RETAINED: &str = "weak-map";
const CHAIN: &str = "weak-map-chain";
/// Minimum percent of the heap of a high, medium, low finding.
const PERCENT: [u64; 3] = [50, 15, 5];
/// Minimum links of a chain of low, and of medium severity.
const LONG: u32 = 1_000;
const VERY_LONG: u32 = 10_000;
/// Number of dominators of a key searched for the value that retains it.
const STEPS: usize = 8;
/// Maximum number of maps, and of classes of values.
const MAPS: usize = 1 << 14;
const CLASSES: usize = 1 << 14;

struct WeakMaps;

/// Entries of one map.
#[derive(Default)]
struct Map {
    entries: u64,
    /// Retained bytes of the values that no other value retains.
    bytes: u64,
    /// Links of the longest chain, and the key at its end.
    longest: (u32, u32),
    /// Largest retained size of a value, and its key.
    largest: (u64, u32),
}

impl Detector for WeakMaps {
    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        if !heap.job.scratch.has(columns::WEAK_ENTRY_ROW) {
            return Ok(Vec::new());
        }
        let entries = entries(heap)?;
        // The memory of the chains is reserved before the arrays.
        let kept =
            heap.job.context.budget.reserve("findings: weak maps", list_bytes::<u32>(3 * entries.len() + 2048))?;
        let (mut dominator, mut retained) = ArrayPlan::of(&heap.job, "findings: weak maps")
            .make((lookup(columns::NODE_DOMINATOR), lookup(columns::NODE_RETAINED)))?;
        drop(kept);
        let maps = on_resident!(dominator, retained => maps(&entries, dominator, retained, heap))?;
        let by_size = |map: &(&u32, &Map)| (Reverse(map.1.bytes), *map.0);
        let mut sorted: Vec<_> = maps.iter().collect();
        sorted.sort_unstable_by_key(by_size);
        let large = sorted.iter().filter_map(|&(&table, map)| about_values(table, map, &entries, heap));
        let long = sorted.iter().filter_map(|&(&table, map)| about_chain(table, map, heap));
        Ok(large.chain(long).collect())
    }
}

/// Returns all entries, by value; one of those with the same value.
fn entries(heap: &Heap) -> Result<BudgetVec<WeakEntryRow>, StageError> {
    let budget = &heap.job.context.budget;
    let mut entries = budget.growing("findings: entries of weak maps");
    heap.job.each_row_if_any(columns::WEAK_ENTRY_ROW, |entry| entries.push(entry))?;
    entries.sort_unstable_by_key(|entry: &WeakEntryRow| (entry.value, entry.key, entry.table));
    let mut kept = budget.growing("findings: entries of weak maps");
    for same in entries.chunk_by(|a, b| a.value == b.value) {
        kept.push(same[0])?;
    }
    Ok(kept)
}

/// Sums the entries of each map.
fn maps(
    entries: &[WeakEntryRow],
    dominator: impl ReadAt<NodeId>,
    mut retained: impl ReadAt<u64>,
    heap: &Heap,
) -> Result<BTreeMap<u32, Map>, StageError> {
    let mut tree = Tree { dominator, root: heap.metadata.root };
    let links = links(entries, &mut tree, heap)?;
    let mut maps: BTreeMap<u32, Map> = BTreeMap::new();
    for (entry, &links) in entries.iter().zip(links.iter()) {
        let Some(map) = bounded(&mut maps, MAPS, entry.table) else { continue };
        let bytes = retained.get(entry.value as usize)?;
        map.entries += 1;
        // A value retained by another value is included in its bytes.
        if links == 1 && tree.is_held(entry)? {
            map.bytes = map.bytes.saturating_add(bytes);
            map.largest = map.largest.max((bytes, entry.key));
        }
        map.longest = map.longest.max((links, entry.key));
    }
    Ok(maps)
}

struct Tree<D> {
    dominator: D,
    root: NodeId,
}

impl<D: ReadAt<NodeId>> Tree<D> {
    /// Position of the entry with a value that is the node or closely dominates it.
    fn entry_above(&mut self, node: u32, entries: &[WeakEntryRow]) -> Result<Option<usize>, StageError> {
        let mut at = node;
        for _ in 0..STEPS {
            if at == self.root.0 {
                break;
            }
            if let Ok(found) = entries.binary_search_by_key(&at, |entry| entry.value) {
                return Ok(Some(found));
            }
            at = self.dominator.get(at as usize)?.0;
        }
        Ok(None)
    }

    /// Whether the key of an entry closely dominates its value.
    fn is_held(&mut self, entry: &WeakEntryRow) -> Result<bool, StageError> {
        let mut at = entry.value;
        for _ in 0..STEPS {
            if at == self.root.0 {
                break;
            }
            at = self.dominator.get(at as usize)?.0;
            if at == entry.key {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns for each entry the length of the chain that ends with it: its own entry, the one with a value that retains
/// its key, and so on.
fn links(
    entries: &[WeakEntryRow],
    tree: &mut Tree<impl ReadAt<NodeId>>,
    heap: &Heap,
) -> Result<BudgetVec<u32>, StageError> {
    let budget = &heap.job.context.budget;
    let mut links = budget.zeroed::<u32>("findings: chains of weak maps", entries.len())?;
    let mut path: BudgetVec<u32> = budget.growing("findings: chains of weak maps");
    for start in 0..entries.len() {
        heap.job.context.check_every(1 << 12, start)?;
        let mut at = Some(start);
        // A value above a key dominates it, and the key its own value: ways up do not come back. In malformed input, an
        // entry already on the path ends it.
        let mut known = loop {
            let Some(here) = at else { break 0 };
            match links[here] {
                0 => {}
                ON_PATH => break 0,
                known => break known,
            }
            links[here] = ON_PATH;
            path.push(here as u32)?;
            let held = tree.is_held(&entries[here])?;
            at = if held { tree.entry_above(entries[here].key, entries)? } else { None };
        };
        while let Some(here) = path.pop() {
            known = (known + 1).min(ON_PATH - 1);
            links[here as usize] = known;
        }
    }
    Ok(links)
}

/// Marks an entry on the current path.
const ON_PATH: u32 = u32::MAX;

/// Finding about a map with values that retain much.
fn about_values(table: u32, map: &Map, entries: &[WeakEntryRow], heap: &Heap) -> Option<Finding> {
    let severity = severity(map.bytes, heap.bytes, PERCENT)?;
    let owner = heap.owner(table).unwrap_or(table);
    let found = Found { rule: RETAINED, severity, count: map.entries, bytes: map.bytes };
    let mut finding = found.about_node(owner, heap);
    let (_, key) = map.largest;
    finding.message = format!(
        "{} entries of one {} @{} keep {} because their keys live: values of {}. Their keys are kept, for example, by {}",
        count(map.entries),
        finding.subject,
        heap.nodes.id.at(owner as usize),
        heap.share(map.bytes),
        classes(table, entries, heap),
        heap.chain(key),
    );
    finding.next_step =
        "Find out who keeps the keys after they are done with, or delete the entries by hand.".to_owned();
    Some(finding)
}

/// The most frequent class of the values of a map.
fn classes(table: u32, entries: &[WeakEntryRow], heap: &Heap) -> String {
    let mut classes: BTreeMap<u32, u64> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.table == table) {
        let class = heap.nodes.class.at(entry.value as usize).0;
        bounded(&mut classes, CLASSES, class).into_iter().for_each(|count| *count += 1);
    }
    let most = classes.iter().max_by_key(|&(&class, &count)| (count, Reverse(class)));
    most.map_or_else(String::new, |(&class, _)| heap.shown_class(class))
}

/// Finding about a map with a long chain.
fn about_chain(table: u32, map: &Map, heap: &Heap) -> Option<Finding> {
    let (links, key) = map.longest;
    let severity = match links {
        VERY_LONG.. => Severity::Medium,
        LONG.. => Severity::Low,
        _ => return None,
    };
    let owner = heap.owner(table).unwrap_or(table);
    let found = Found { rule: CHAIN, severity, count: links.into(), bytes: 0 };
    let mut finding = found.about_node(owner, heap);
    finding.node = Some(key);
    finding.message = format!(
        "Entries of one {} @{} are a chain of {}: the value of each holds the key of the next; at the end is {} @{}",
        finding.subject,
        heap.nodes.id.at(owner as usize),
        count(links.into()),
        heap.nodes.label(NodeId(key)),
        heap.nodes.id.at(key as usize),
    );
    finding.next_step =
        "Keep the next key out of the values, or the values in their keys: collectors look at all entries again for \
         each link."
            .to_owned();
    Some(finding)
}
