//! Rule `unreachable`: garbage in the snapshot, in formats that keep it, without the fillers that collectors put
//! between objects; and objects alive by unrecorded roots, in formats that list the survivors of a garbage collection.

use super::class_roles::role;
use super::heap::{Found, Heap};
use super::rule::{Detector, Extent, Node, Rule, bounded, map_bytes, severity};
use heaplake_kit::StageError;
use heaplake_kit::text::{count, size};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::{Finding, Scope};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    names: &[NAME, UNROOTED],
    candidates: map_bytes::<u32, (u64, u64)>(CLASSES),
    open: |_, _| Ok(Box::<Unreachable>::default()),
    ..Rule::NEW
};

const NAME: &str = "unreachable";
/// Name of the findings about objects that are alive.
const UNROOTED: &str = "unrooted-objects";
/// Minimum percent of heap and garbage together of a high (never), medium, low finding.
const PERCENT: [u64; 3] = [101, 20, 5];

const STEP_GARBAGE: &str =
    "Collect before the snapshot is taken (live objects only) to see what stays; much garbage means much allocation.";
const STEP_THREADS: &str = "See what they wait for in a thread dump (jcmd PID Thread.dump_to_file), or take the heap dump \
                            with JDK 24 or later, which writes these stacks.";
const STEP_ALIVE: &str = "If one of these classes has far more objects than the program needs, look for the code that makes \
                          them. A dump by a newer runtime may have the roots that hold them.";

/// Maximum number of classes, and of classes shown.
const CLASSES: usize = 1 << 14;
const SHOWN: usize = 3;
/// Number of waiting threads that makes missing stacks the likely cause.
const THREADS: u64 = 100;

#[derive(Default)]
struct Unreachable {
    count: u64,
    bytes: u64,
    /// Number of objects of each class, and their bytes.
    classes: BTreeMap<u32, (u64, u64)>,
    /// Threads with stacks that dumps may omit.
    threads: Option<ClassRow>,
}

impl Detector for Unreachable {
    fn may_match(&self, extent: &Extent) -> bool {
        extent.unreachable
    }

    fn sees_garbage(&self) -> bool {
        true
    }

    fn see(&mut self, node: &Node) {
        if !node.reachable {
            self.count += 1;
            self.bytes = self.bytes.saturating_add(node.shallow);
            if let Some((count, bytes)) = bounded(&mut self.classes, CLASSES, node.class) {
                (*count, *bytes) = (*count + 1, bytes.saturating_add(node.shallow));
            }
        }
    }

    fn see_class(&mut self, row: &ClassRow, heap: &Heap) {
        if row.count >= THREADS && heap.metadata.roles.virtual_threads.fit(&heap.class_name(row.class_id)) {
            self.threads = Some(*row);
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let fillers = self.take_fillers(heap);
        let is_alive = heap.metadata.lists_survivors;
        let held = if is_alive { heap.bytes.saturating_sub(self.bytes) } else { heap.bytes };
        let all = held.saturating_add(self.bytes);
        let Some(severity) = severity(self.bytes, all, PERCENT) else { return Ok(Vec::new()) };
        let (rule, subject) = if is_alive { (UNROOTED, "objects without a root") } else { (NAME, "garbage") };
        let found = Found { rule, severity, count: self.count, bytes: self.bytes };
        let mut finding = found.about(Scope::Snapshot, subject);
        (finding.message, finding.next_step) =
            if is_alive { self.without_roots(held, heap) } else { self.garbage(fillers, heap) };
        Ok(vec![finding])
    }
}

impl Unreachable {
    /// Returns message and advice about objects that are alive.
    fn without_roots(&self, held: u64, heap: &Heap) -> (String, String) {
        let message = format!(
            "{} objects of {} are alive, but no root in the dump reaches them, beside {} that are reached: the roots that \
             hold them were not recorded. Above all {}",
            count(self.count),
            heap.share(self.bytes),
            size(held),
            self.largest(heap),
        );
        (message, STEP_ALIVE.to_owned())
    }

    /// Returns message and advice about garbage.
    fn garbage(&self, fillers: u64, heap: &Heap) -> (String, String) {
        let mut message = format!(
            "{} objects of {} are reached from no root, beside {} that are held, above all {}",
            count(self.count),
            size(self.bytes),
            size(heap.bytes),
            self.largest(heap),
        );
        if fillers > 0 {
            let classes = "with which the collector may have filled gaps";
            message += &format!(". Another {} are fillers, or arrays {classes}", size(fillers));
        }
        let Some(threads) = self.threads else { return (message, STEP_GARBAGE.to_owned()) };
        message += &format!(
            ". {} virtual threads ({}), which retain {}, wait, and a dump may lack the stacks of such: what only their \
             variables hold then counts as garbage",
            count(threads.count),
            heap.shown_class(threads.class_id),
            size(threads.retained_bytes),
        );
        (message, STEP_THREADS.to_owned())
    }

    /// Removes fillers between objects; returns their bytes.
    fn take_fillers(&mut self, heap: &Heap) -> u64 {
        let fillers = &heap.metadata.roles.fillers;
        let mut left_out = (0, 0u64);
        self.classes.retain(|&class, &mut (count, bytes)| {
            let is_filler = fillers.fit(&heap.class_name(class));
            if is_filler {
                left_out = (left_out.0 + count, left_out.1.saturating_add(bytes));
            }
            !is_filler
        });
        self.count = self.count.saturating_sub(left_out.0);
        self.bytes = self.bytes.saturating_sub(left_out.1);
        left_out.1
    }

    /// Text: the class with most bytes, and the largest classes of the program besides arrays and texts.
    fn largest(&self, heap: &Heap) -> String {
        let mut classes: Vec<_> = self.classes.iter().collect();
        classes.sort_by_key(|&(&class, &(count, bytes))| (Reverse(bytes), Reverse(count), class));
        let is_plain = |class: u32| heap.classes.has(class, role::COMMON);
        let program = classes.iter().filter(|(class, _)| !is_plain(**class)).take(SHOWN - 1);
        let shown = classes.iter().take(1).chain(program.filter(|(class, _)| *class != classes[0].0));
        let texts: Vec<String> = shown
            .map(|&(&class, &(objects, bytes))| {
                format!("{} × {} ({})", count(objects), heap.shown_class(class), size(bytes))
            })
            .collect();
        texts.join(", ")
    }
}
