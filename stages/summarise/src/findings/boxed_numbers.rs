//! Rule `boxed-numbers`: numbers that are objects.

use super::heap::{Heap, about_class};
use super::{Rule, severity};
use heaplake_kit::text::count;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::Finding;

/// Percent of the heap from which on a finding is high (never), medium, low.
const PERCENT: [u64; 3] = [101, 10, 2];
/// The classes of numbers.
const BOXES: [&str; 8] = [
    "java.lang.Boolean",
    "java.lang.Byte",
    "java.lang.Character",
    "java.lang.Double",
    "java.lang.Float",
    "java.lang.Integer",
    "java.lang.Long",
    "java.lang.Short",
];

#[derive(Default)]
pub struct BoxedNumbers {
    rows: Vec<ClassRow>,
}

impl Rule for BoxedNumbers {
    fn see_class(&mut self, row: &ClassRow, heap: &Heap) {
        if BOXES.contains(&&*heap.class_name(row.class_id)) {
            self.rows.push(*row);
        }
    }

    fn report(&mut self, heap: &Heap, _context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        let found = self.rows.iter().filter_map(|row| {
            let severity = severity(row.shallow_bytes, heap.bytes, PERCENT)?;
            let mut finding = about_class("boxed-numbers", severity, row.class_id, heap);
            finding.count = row.count;
            finding.bytes = row.shallow_bytes;
            finding.message =
                format!("{} × {} take {}", count(row.count), finding.subject, heap.share(row.shallow_bytes));
            finding.next_step =
                "Hold them as primitives: arrays, or collections made for primitive keys and values.".to_owned();
            Some(finding)
        });
        Ok(found.collect())
    }
}
