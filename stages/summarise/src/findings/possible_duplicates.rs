//! Rule `possible-duplicate-instances`: classes whose instances look alike, but were not looked into to the end,
//! because the run was not asked to or the allowed work was used up; and the same for the snapshot as a whole.

use super::heap::{Heap, blank};
use super::rule::{Detector, Rule};
use heaplake_kit::access::{column, per_node};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::text::{count, size};
use heaplake_kit::{ArrayPlan, ColumnReader, ReadAt, StageError};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::findings::{Finding, Scope, Severity};
use heaplake_schemas::ids::ClassId;
use heaplake_schemas::scratch::{self as columns, limits};

/// The rule.
pub const RULE: Rule = Rule {
    names: &[NAME],
    reads: &[column(columns::SET_ROW).if_any()],
    arrays: &[per_node::<ClassId>()],
    open: |_, _| Ok(Box::new(PossibleDuplicates)),
    ..Rule::NEW
};

const NAME: &str = "possible-duplicate-instances";
/// Characters that mean something in a pattern of class names.
const SPECIAL: [char; 5] = ['*', '?', '[', ']', '\''];

struct PossibleDuplicates;

/// Sets that were not looked into to the end.
#[derive(Clone, Copy, Default)]
struct Open {
    sets: u64,
    members: u64,
    /// The bytes of the members that would be saved if all undecided sets were duplicates.
    bytes: u64,
}

impl Open {
    fn add(&mut self, row: &SetRow) {
        let others = u64::from(row.members) - 1;
        self.sets += 1;
        self.members += others + 1;
        self.bytes = self.bytes.saturating_add(row.instance_bytes.saturating_mul(others));
    }

    fn says(&self, what: &str) -> String {
        format!(
            "{} {what} look alike ({} {}), and what they refer to was not looked into; up to {} of their own would go",
            count(self.members),
            count(self.sets),
            if self.sets == 1 { "set" } else { "sets" },
            size(self.bytes),
        )
    }
}

impl Detector for PossibleDuplicates {
    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        if !heap.job.scratch.has(columns::SET_ROW) {
            return Ok(Vec::new());
        }
        let mut rows = ColumnReader::open(heap.job.scratch, columns::SET_ROW)?;
        let context = heap.job.context;
        let class_count = heap.job.class_count()?;
        let mut classes = context.budget.filled("possible duplicates", class_count, Open::default())?;
        let mut class_of = ArrayPlan::of(&heap.job, "possible duplicates").one(lookup(columns::NODE_CLASS))?;
        let mut all = Open::default();
        for set in 0..rows.remaining() {
            let row = rows.next()?;
            if set.is_multiple_of(1 << 16) {
                context.check()?;
            }
            if row.reasons & (limits::MODE | limits::WORK) != 0 && row.members > 1 {
                all.add(&row);
                classes[class_of.get(row.example.index())?.index()].add(&row);
            }
        }
        if all.sets == 0 {
            return Ok(Vec::new());
        }
        let of_class = || classes.iter().zip(0..).filter(|(open, _)| open.sets > 0);
        let mut whole = finding(Scope::Snapshot, "the snapshot".to_owned(), &all);
        whole.message = all.says(&format!("instances of {} classes", count(of_class().count() as u64)));
        whole.next_step =
            "Run `heaplake duplicates RUN`; where it was out of work, with a larger --duplicate-work.".to_owned();
        let of_classes = of_class().map(|(open, class)| {
            let name = heap.shown_class(class);
            let mut found = finding(Scope::Class, name.clone(), open);
            // Only whole names, since a truncated name matches nothing.
            let is_special = |c: char| SPECIAL.contains(&c) || c.is_control();
            let pattern: String = heap.class_name(class).chars().map(|c| if is_special(c) { '?' } else { c }).collect();
            found.message = open.says(&format!("× {name}"));
            found.next_step = format!("Run `heaplake duplicates RUN --duplicates-of '{pattern}'`.");
            found.class_id = Some(class);
            found
        });
        Ok(std::iter::once(whole).chain(of_classes).collect())
    }
}

fn finding(scope: Scope, subject: String, open: &Open) -> Finding {
    let mut finding = blank(NAME, Severity::Low, scope, subject);
    finding.count = open.members;
    finding.bytes = open.bytes;
    finding
}
