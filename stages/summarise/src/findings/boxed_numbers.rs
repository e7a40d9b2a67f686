//! Rule `boxed-numbers`: numbers that are objects.

use super::class_roles::role;
use super::heap::{Found, Heap};
use super::rule::{Detector, Rule, Tells, list_bytes, severity};
use heaplake_kit::StageError;
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::Finding;

pub(super) const RULE: Rule = Rule {
    names: &[NAME],
    candidates: list_bytes::<ClassRow>(CLASSES),
    tells: Tells::Waste,
    open: |_, _| Ok(Box::<BoxedNumbers>::default()),
    ..Rule::NEW
};

const NAME: &str = "boxed-numbers";
/// Minimum percent of the heap of a high (never), medium, low finding.
const PERCENT: [u64; 3] = [101, 10, 2];
/// Number of classes kept, the largest.
const CLASSES: usize = 1 << 12;

#[derive(Default)]
pub(super) struct BoxedNumbers {
    rows: Vec<ClassRow>,
}

impl Detector for BoxedNumbers {
    fn see_class(&mut self, row: &ClassRow, heap: &Heap) {
        if self.rows.len() < CLASSES && heap.classes.has(row.class_id, role::BOX) {
            self.rows.push(*row);
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let found = self.rows.iter().filter_map(|row| {
            let severity = severity(row.shallow_bytes, heap.bytes, PERCENT)?;
            let found = Found { rule: NAME, severity, count: row.count, bytes: row.shallow_bytes };
            let mut finding = found.about_class(row.class_id, None, heap);
            let take = if row.count == 1 { "takes" } else { "take" };
            finding.message =
                format!("{} {take} {}", heap.objects(row.count, row.class_id, None), heap.share(row.shallow_bytes));
            finding.next_step =
                "Hold them as primitives: arrays, or collections made for primitive keys and values.".to_owned();
            Some(finding)
        });
        Ok(found.collect())
    }
}
