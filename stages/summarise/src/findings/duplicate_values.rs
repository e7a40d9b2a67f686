//! Rules `duplicate-strings` and `duplicate-arrays`: all texts, and all arrays of plain data, with equal copies. Such
//! sets have no references, so no two sets share a byte.

use super::class_roles::Kinds;
use super::duplicates::{Previews, each_set};
use super::heap::{Found, Heap};
use super::rule::{Detector, Rule, Tells, bounded, map_bytes, severity};
use heaplake_kit::access::{column, per_node, texts};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::text::{count, size};
use heaplake_kit::{ArrayPlan, ReadAt, StageError};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::ids::ClassId;
use heaplake_schemas::scratch::{self as columns, Metadata, SET_PREVIEWS};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    names: &[STRINGS, ARRAYS],
    reads: &[column(columns::SET_ROW).if_any(), texts(SET_PREVIEWS).if_any()],
    arrays: &[per_node::<u8>(), per_node::<ClassId>()],
    working: map_bytes::<u32, Tally>(CLASSES),
    tells: Tells::Copies,
    open: |_, metadata| Ok(Box::new(DuplicateValues::new(metadata))),
    ..Rule::NEW
};

const STRINGS: &str = "duplicate-strings";
const ARRAYS: &str = "duplicate-arrays";
/// Minimum percent of the heap of a high, medium, low finding.
const PERCENT: [u64; 3] = [40, 10, 2];
/// Minimum bytes of a large set.
const LARGE: u64 = 64 << 10;
/// Characters of the example in a message.
const SHOWN: usize = 60;
/// Maximum number of classes.
const CLASSES: usize = 1 << 12;

struct DuplicateValues {
    strings: Kinds,
    arrays: Kinds,
}

/// Sets of one class.
#[derive(Default)]
struct Tally {
    /// Exact sets.
    sets: u64,
    members: u64,
    bytes: u64,
    /// Bytes of possible sets, and of sets of members filled with one value.
    possible: u64,
    filled: u64,
    /// The largest exact set.
    largest: Option<(u32, SetRow)>,
}

impl Tally {
    fn add(&mut self, set: u32, row: SetRow) {
        if row.reasons != 0 {
            self.possible = self.possible.saturating_add(row.additional_bytes);
            return;
        }
        self.sets += 1;
        self.members += u64::from(row.members);
        self.bytes = self.bytes.saturating_add(row.additional_bytes);
        if self.largest.is_none_or(|(_, largest)| row.additional_bytes > largest.additional_bytes) {
            self.largest = Some((set, row));
        }
    }
}

impl Detector for DuplicateValues {
    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        if !heap.job.scratch.has(columns::SET_ROW) {
            return Ok(Vec::new());
        }
        let previews = Previews::open(heap)?;
        let classes = self.classes(&previews, heap)?;
        let preview = |set: u32| previews.text(set, SHOWN);
        Ok(classes.iter().filter_map(|(&class, tally)| self.found(class, tally, preview, heap)).collect())
    }
}

impl DuplicateValues {
    fn new(metadata: &Metadata) -> Self {
        let roles = &metadata.roles;
        Self { strings: Kinds::of(&roles.plain_texts, metadata), arrays: Kinds::of(&roles.data_arrays, metadata) }
    }

    /// Sets of texts and arrays, by class.
    fn classes(&self, previews: &Previews, heap: &Heap) -> Result<BTreeMap<u32, Tally>, StageError> {
        let (mut kinds, mut class_of) = ArrayPlan::of(&heap.job, "duplicate values")
            .make((lookup(columns::NODE_KIND), lookup(columns::NODE_CLASS)))?;
        let mut classes: BTreeMap<u32, Tally> = BTreeMap::new();
        each_set(heap, |set, row| {
            let example = row.example.index();
            if row.trivial == 0 {
                return Ok(());
            }
            let (kind, class) = (kinds.get(example)?, class_of.get(example)?.0);
            if (self.strings.has(kind) || self.arrays.has(kind))
                && let Some(tally) = bounded(&mut classes, CLASSES, class)
            {
                // Only large sets are checked for fills: they are few.
                match row.additional_bytes >= LARGE && previews.is_filled(set) {
                    true => tally.filled = tally.filled.saturating_add(row.additional_bytes),
                    false => tally.add(set, *row),
                }
            }
            Ok(())
        })?;
        Ok(classes)
    }

    fn found(&self, class: u32, tally: &Tally, preview: impl Fn(u32) -> String, heap: &Heap) -> Option<Finding> {
        let (set, largest) = tally.largest?;
        // A single set has a finding of its own.
        let severity = severity(tally.bytes, heap.bytes, PERCENT).filter(|_| tally.sets > 1)?;
        let example = largest.example.0;
        let is_string = self.strings.has(heap.nodes.kind.at(example as usize));
        let rule = if is_string { STRINGS } else { ARRAYS };
        let found = Found { rule, severity, count: tally.members, bytes: tally.bytes };
        let mut finding = found.about_class(class, Some(example), heap);
        finding.set = Some(set);
        finding.message = format!(
            "{} have only {} distinct values; sharing them saves {}. The largest set: {} × {} ({})",
            heap.objects(tally.members, class, None),
            count(tally.sets),
            heap.share(tally.bytes),
            count(largest.members.into()),
            preview(set),
            size(largest.additional_bytes),
        );
        if tally.possible > 0 {
            finding.message +=
                &format!(". Another {} only look the same as far as the snapshot tells", size(tally.possible));
        }
        if tally.filled > 0 {
            finding.message += &format!(". Another {} are filled with one value each", size(tally.filled));
        }
        finding.next_step = match () {
            () if is_string => "Keep one of each in a table by its content, where they are made or read.",
            () if is_in_text(example, heap) => &*heap.metadata.roles.data_array_advice,
            () => "Share one of each if they never change; make buffers when they are needed, or pool them.",
        }
        .to_owned();
        Some(finding)
    }
}

/// Whether an array is the content of a text.
fn is_in_text(node: u32, heap: &Heap) -> bool {
    let above = heap.nodes.dominator.at(node as usize).index();
    let parent = heap.tree.as_ref().and_then(|tree| tree.parent(node).get()).map_or(above, |parent| parent as usize);
    let is_text = |node: usize| heap.metadata.roles.text_classes.fit(&heap.class_name(heap.nodes.class.at(node).0));
    is_text(above) || is_text(parent)
}
