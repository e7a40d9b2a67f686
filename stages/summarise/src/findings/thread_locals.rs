//! Rule `thread-locals`: what threads keep for themselves. Threads of a pool never end, and with them what they keep.

use super::heap::{Heap, about_class};
use super::rule::{Detector, Rule, map_bytes, severity};
use heaplake_kit::access::per_node;
use heaplake_kit::array_plan::lookup;
use heaplake_kit::text::{count, size};
use heaplake_kit::{ArrayPlan, ColumnReader, ReadAt, StageError, on_resident};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::ids::ClassId;
use heaplake_schemas::roles::ThreadLocals;
use heaplake_schemas::scratch as columns;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The rule.
pub const RULE: Rule = Rule {
    names: &[NAME],
    arrays: &[per_node::<ClassId>()],
    working: map_bytes::<u32, Tally>(CLASSES),
    open: |_, _| Ok(Box::<Maps>::default()),
    ..Rule::NEW
};

const NAME: &str = "thread-locals";
/// Percent of the heap from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [25, 10, 2];
/// Classes that are told apart.
const CLASSES: usize = 1 << 14;

#[derive(Default)]
struct Maps {
    /// Of the maps that threads have.
    row: Option<ClassRow>,
    /// Class of their entries.
    entry: Option<u32>,
}

/// Values of one class.
#[derive(Default)]
struct Tally {
    count: u64,
    bytes: u64,
    largest: (u64, u32),
}

impl Detector for Maps {
    fn see_class(&mut self, row: &ClassRow, heap: &Heap) {
        let Some(ThreadLocals { map, entry, .. }) = &heap.facts.roles.thread_locals else { return };
        let name = heap.class_name(row.class_id);
        if self.row.is_none() && name == **map {
            self.row = Some(*row);
        } else if self.entry.is_none() && name == **entry {
            self.entry = Some(row.class_id);
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let Some((row, severity)) =
            self.row.and_then(|row| Some((row, severity(row.retained_bytes, heap.bytes, PERCENT)?)))
        else {
            return Ok(Vec::new());
        };
        let mut finding = about_class(NAME, severity, row.class_id, heap);
        finding.count = row.count;
        finding.bytes = row.retained_bytes;
        finding.message =
            format!("Thread locals of {} threads retain {}", count(row.count), heap.share(row.retained_bytes));
        let values = match self.entry {
            Some(entry) => values(entry, heap)?,
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
        finding.next_step = heap.facts.roles.thread_locals.as_ref().map_or("", |found| &found.advice).to_owned();
        Ok(vec![finding])
    }
}

/// What entries hold alone, by class.
fn values(entry: u32, heap: &Heap) -> Result<BTreeMap<u32, Tally>, StageError> {
    let mut class_of = ArrayPlan::of(&heap.job, "thread locals").one(lookup(columns::NODE_CLASS))?;
    on_resident!(class_of => add_up(entry, class_of, heap))
}

fn add_up(entry: u32, mut class_of: impl ReadAt<ClassId>, heap: &Heap) -> Result<BTreeMap<u32, Tally>, StageError> {
    let mut values: BTreeMap<u32, Tally> = BTreeMap::new();
    let mut dominators = ColumnReader::open(heap.job.scratch, columns::NODE_DOMINATOR)?;
    let mut retained = ColumnReader::open(heap.job.scratch, columns::NODE_RETAINED)?;
    for node in 0..heap.facts.node_count as u32 {
        let (dominator, bytes) = (dominators.next()?, retained.next()?);
        if node.is_multiple_of(1 << 18) {
            heap.job.context.check()?;
        }
        if class_of.get(dominator.index())?.0 != entry {
            continue;
        }
        let class = class_of.get(node as usize)?.0;
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
