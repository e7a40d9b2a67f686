//! Rule `thread-frames`: threads at the same place of the code, with the objects that only the variables of that frame
//! retain: requests that wait for an answer, stuck workers.

use super::heap::{Found, Heap};
use super::rule::{Detector, Rule, bounded, map_bytes, severity};
use heaplake_kit::access::per_node;
use heaplake_kit::array_plan::lookup;
use heaplake_kit::text::{count, size};
use heaplake_kit::{ArrayPlan, ColumnReader, ReadAt, StageError, on_resident};
use heaplake_schemas::chains::label;
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::ids::ClassId;
use heaplake_schemas::scratch as columns;
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    names: &[NAME],
    arrays: &[per_node::<ClassId>()],
    working: map_bytes::<u32, Tally>(FRAMES),
    open: |_, _| Ok(Box::<ThreadFrames>::default()),
    ..Rule::NEW
};

const NAME: &str = "thread-frames";
/// Minimum percent of the heap of a high, medium, low finding.
const PERCENT: [u64; 3] = [25, 10, 5];
/// Minimum number of threads.
const MANY: u64 = 20;
/// Maximum number of frames.
const FRAMES: usize = 1 << 14;

#[derive(Default)]
struct ThreadFrames {
    /// Classes of threads with objects, and the number of these objects.
    classes: Vec<u32>,
    count: u64,
}

/// Variables of one frame.
#[derive(Default)]
struct Tally {
    /// Number of threads. A thread with scattered variables among the nodes counts more than once.
    threads: u64,
    last: Option<u32>,
    bytes: u64,
    /// Largest retained size, and its node.
    largest: (u64, u32),
}

impl Detector for ThreadFrames {
    fn see_class(&mut self, row: &ClassRow, heap: &Heap) {
        if heap.metadata.roles.threads.fit(&heap.class_name(row.class_id)) {
            self.classes.push(row.class_id);
            self.count += row.count;
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        if self.count < MANY || heap.tree.is_none() {
            return Ok(Vec::new());
        }
        let mut class_of = ArrayPlan::of(&heap.job, "thread frames").one(lookup(columns::NODE_CLASS))?;
        let frames = on_resident!(class_of => self.add_up(class_of, heap))?;
        let found = frames.iter().filter_map(|(&frame, tally)| {
            finding(frame, &Tally { threads: tally.threads.min(self.count), ..*tally }, heap)
        });
        Ok(found.collect())
    }
}

impl ThreadFrames {
    /// Sums the retained sizes of the variables of frames, by the label of the frame.
    fn add_up(&self, mut class_of: impl ReadAt<ClassId>, heap: &Heap) -> Result<BTreeMap<u32, Tally>, StageError> {
        let scratch = heap.job.scratch;
        let mut dominators = ColumnReader::open(scratch, columns::NODE_DOMINATOR)?;
        let mut retained = ColumnReader::open(scratch, columns::NODE_RETAINED)?;
        let mut parents = ColumnReader::open(scratch, columns::PATH_PARENT)?;
        let mut labels = ColumnReader::open(scratch, columns::PATH_LABEL)?;
        let mut frames: BTreeMap<u32, Tally> = BTreeMap::new();
        for node in 0..heap.metadata.node_count as u32 {
            let (dominator, bytes) = (dominators.next()?, retained.next()?);
            let (parent, label) = (parents.next()?, labels.next()?);
            heap.job.context.check_every(1 << 12, node)?;
            if dominator != parent
                || label >= label::NO_PATH
                || !self.classes.contains(&class_of.get(dominator.index())?.0)
                || !is_frame(&heap.strings().text(label as usize))
            {
                continue;
            }
            let Some(tally) = bounded(&mut frames, FRAMES, label) else { continue };
            tally.threads += u64::from(tally.last.replace(dominator.0) != Some(dominator.0));
            tally.bytes = tally.bytes.saturating_add(bytes);
            tally.largest = tally.largest.max((bytes, node));
        }
        Ok(frames)
    }
}

/// Whether a label is that of a frame, `package.Class.method(File.java:1)`, and not that of a field.
fn is_frame(label: &str) -> bool {
    label.ends_with(')') && label.contains('(')
}

fn finding(frame: u32, tally: &Tally, heap: &Heap) -> Option<Finding> {
    let severity = severity(tally.bytes, heap.bytes, PERCENT).filter(|_| tally.threads >= MANY)?;
    let (bytes, example) = tally.largest;
    let frame = heap.strings().text(frame as usize).into_owned();
    let found = Found { rule: NAME, severity, count: tally.threads, bytes: tally.bytes };
    let mut finding = found.about_node(example, heap);
    finding.subject.clone_from(&frame);
    finding.message = format!(
        "{} threads are at {frame}; the variables of that frame alone keep {}, {} in one of them: {}",
        count(tally.threads),
        heap.share(tally.bytes),
        size(bytes),
        heap.chain(example),
    );
    "See what they wait for, and bound how many may wait: a timeout, a queue of a fixed length, a semaphore."
        .clone_into(&mut finding.next_step);
    Some(finding)
}
