//! Rule `thread-locals`: objects in thread locals. Threads of a pool never end, so they keep their thread locals.

use super::heap::{Found, Heap};
use super::rule::{Detector, Rule, bounded, list_bytes, map_bytes, severity};
use heaplake_kit::access::{column, per_node};
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

pub(super) const RULE: Rule = Rule {
    names: &[NAME],
    reads: &[
        column(columns::ESSENTIAL_DEGREE).if_any(),
        column(columns::ESSENTIAL_TO).if_any(),
        column(columns::AVOIDED_EDGE).if_any(),
    ],
    arrays: &[per_node::<ClassId>()],
    working: map_bytes::<Key, Tally>(VALUES) + list_bytes::<(u32, u32)>(ENTRIES),
    open: |_, _| Ok(Box::<Maps>::default()),
    ..Rule::NEW
};

const NAME: &str = "thread-locals";
/// Minimum percent of the heap of a high, medium, low finding.
const PERCENT: [u64; 3] = [25, 10, 2];
/// Maximum number of pairs of thread local and class of values, and of entries with a thread local.
const VALUES: usize = 1 << 14;
const ENTRIES: usize = 1 << 18;

/// A thread local, [`UNKNOWN`] if not in the input, and a class of its values.
type Key = (u32, u32);
const UNKNOWN: u32 = u32::MAX;

#[derive(Default)]
struct Maps {
    /// Row of the maps of threads.
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
        let Some(ThreadLocals { map, entry, .. }) = &heap.metadata.roles.thread_locals else { return };
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
        let found = Found { rule: NAME, severity, count: row.count, bytes: row.retained_bytes };
        let mut finding = found.about_class(row.class_id, None, heap);
        finding.message =
            format!("Thread locals of {} threads retain {}", count(row.count), heap.share(row.retained_bytes));
        let values = match self.entry {
            Some(entry) => values(entry, heap)?,
            None => BTreeMap::new(),
        };
        if let Some((&(local, class), most)) = values.iter().max_by_key(|&(&key, tally)| (tally.bytes, Reverse(key))) {
            finding.node = Some(most.largest.1);
            let of = if local == UNKNOWN { String::new() } else { format!("{}: ", heap.chain(local)) };
            finding.message += &format!(
                ", above all {of}{} × {} ({}), for example {}",
                count(most.count),
                heap.shown_class(class),
                size(most.bytes),
                heap.chain(most.largest.1),
            );
        }
        finding.next_step = heap.metadata.roles.thread_locals.as_ref().map_or("", |found| &found.advice).to_owned();
        Ok(vec![finding])
    }
}

/// Sums the retained sizes of values of entries, by thread local and class.
fn values(entry: u32, heap: &Heap) -> Result<BTreeMap<Key, Tally>, StageError> {
    let locals = locals(entry, heap)?;
    let mut class_of = ArrayPlan::of(&heap.job, "thread locals").one(lookup(columns::NODE_CLASS))?;
    on_resident!(class_of => add_up(entry, &locals, class_of, heap))
}

/// Returns the thread local of each entry, by entry: the target of its weak reference.
fn locals(entry: u32, heap: &Heap) -> Result<Vec<(u32, u32)>, StageError> {
    let scratch = heap.job.scratch;
    let mut locals = Vec::new();
    if !scratch.has(columns::AVOIDED_EDGE) || !scratch.has(columns::ESSENTIAL_TO) {
        return Ok(locals);
    }
    let mut classes = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut degrees = ColumnReader::open(scratch, columns::ESSENTIAL_DEGREE)?;
    let mut targets = ColumnReader::open(scratch, columns::ESSENTIAL_TO)?;
    let mut weak = ColumnReader::open(scratch, columns::AVOIDED_EDGE)?;
    let (mut position, mut next_weak) = (0, None);
    for node in 0..heap.metadata.node_count as u32 {
        let (class, degree) = (classes.next()?.0, degrees.next()?);
        heap.job.context.check_every(1 << 12, node)?;
        if class != entry || locals.len() == ENTRIES {
            targets.skip(degree.into())?;
            position += u64::from(degree);
            continue;
        }
        for _ in 0..degree {
            let to = targets.next()?;
            while weak.remaining() > 0 && next_weak.is_none_or(|next| next < position) {
                next_weak = Some(weak.next()?);
            }
            if next_weak == Some(position) {
                locals.push((node, to.0));
            }
            position += 1;
        }
    }
    Ok(locals)
}

fn add_up(
    entry: u32,
    locals: &[(u32, u32)],
    mut class_of: impl ReadAt<ClassId>,
    heap: &Heap,
) -> Result<BTreeMap<Key, Tally>, StageError> {
    let local_of =
        |entry: u32| locals.binary_search_by_key(&entry, |&(entry, _)| entry).map_or(UNKNOWN, |at| locals[at].1);
    let mut values: BTreeMap<Key, Tally> = BTreeMap::new();
    let mut dominators = ColumnReader::open(heap.job.scratch, columns::NODE_DOMINATOR)?;
    let mut retained = ColumnReader::open(heap.job.scratch, columns::NODE_RETAINED)?;
    for node in 0..heap.metadata.node_count as u32 {
        let (dominator, bytes) = (dominators.next()?, retained.next()?);
        heap.job.context.check_every(1 << 12, node)?;
        if class_of.get(dominator.index())?.0 != entry {
            continue;
        }
        let key = (local_of(dominator.0), class_of.get(node as usize)?.0);
        let Some(tally) = bounded(&mut values, VALUES, key) else { continue };
        tally.count += 1;
        tally.bytes = tally.bytes.saturating_add(bytes);
        if tally.count == 1 || bytes > tally.largest.0 {
            tally.largest = (bytes, node);
        }
    }
    Ok(values)
}
