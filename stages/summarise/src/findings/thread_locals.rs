//! Rule `thread-locals`: what threads keep for themselves. Threads of a pool never end, and with them what they keep.

use super::heap::{Heap, about_class};
use super::{Rule, severity};
use heaplake_kit::text::{count, size};
use heaplake_kit::{ColumnReader, Context, StageError};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::scratch as columns;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Percent of the heap from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [25, 10, 2];
/// The class of the maps that threads have, and that of their entries.
const MAP: &str = "java.lang.ThreadLocal$ThreadLocalMap";
const ENTRY: &str = "java.lang.ThreadLocal$ThreadLocalMap$Entry";
/// Classes that are told apart.
const CLASSES: usize = 1 << 14;

#[derive(Default)]
pub struct ThreadLocals {
    row: Option<ClassRow>,
    entry: Option<u32>,
}

/// Values of one class.
#[derive(Default)]
struct Tally {
    count: u64,
    bytes: u64,
    largest: (u64, u32),
}

impl Rule for ThreadLocals {
    fn see_class(&mut self, row: &ClassRow, heap: &Heap) {
        match &*heap.class_name(row.class_id) {
            MAP if self.row.is_none() => self.row = Some(*row),
            ENTRY if self.entry.is_none() => self.entry = Some(row.class_id),
            _ => {}
        }
    }

    fn report(&mut self, heap: &Heap, context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        let Some((row, severity)) =
            self.row.and_then(|row| Some((row, severity(row.retained_bytes, heap.bytes, PERCENT)?)))
        else {
            return Ok(Vec::new());
        };
        let mut finding = about_class("thread-locals", severity, row.class_id, heap);
        finding.count = row.count;
        finding.bytes = row.retained_bytes;
        finding.message =
            format!("Thread locals of {} threads retain {}", count(row.count), heap.share(row.retained_bytes));
        let values = match self.entry {
            Some(entry) => values(entry, heap, context)?,
            None => BTreeMap::new(),
        };
        if let Some((&class, most)) = values.iter().max_by_key(|&(&class, tally)| (tally.bytes, Reverse(class))) {
            finding.node = Some(most.largest.1);
            finding.message += &format!(
                ", above all {} × {} ({}): {}",
                count(most.count),
                heap.shown_class(class),
                size(most.bytes),
                heap.chain(most.largest.1),
            );
        }
        finding.next_step = "Call ThreadLocal.remove() when the work is done, in a finally block.".to_owned();
        Ok(vec![finding])
    }
}

/// What entries hold alone, by class.
fn values(entry: u32, heap: &Heap, context: &Context<'_>) -> Result<BTreeMap<u32, Tally>, StageError> {
    let mut values: BTreeMap<u32, Tally> = BTreeMap::new();
    let mut dominators = ColumnReader::open(heap.scratch, columns::NODE_DOMINATOR)?;
    for node in 0..heap.facts.node_count as u32 {
        let dominator = dominators.next()?.index();
        if node.is_multiple_of(1 << 18) {
            context.check()?;
        }
        if heap.nodes.class[dominator].0 != entry {
            continue;
        }
        let (class, bytes) = (heap.nodes.class[node as usize].0, heap.nodes.retained[node as usize]);
        if values.len() == CLASSES && !values.contains_key(&class) {
            continue;
        }
        let tally = values.entry(class).or_default();
        tally.count += 1;
        tally.bytes = tally.bytes.saturating_add(bytes);
        if tally.count == 1 || bytes > tally.largest.0 {
            tally.largest = (bytes, node);
        }
    }
    Ok(values)
}
