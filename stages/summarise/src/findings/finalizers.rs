//! Rule `finalizer-queue`: objects that wait to be finalized, or will have to.

use super::heap::{Heap, about_class};
use super::{Rule, severity};
use heaplake_kit::text::count;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::{Finding, Severity};

/// Percent of the heap from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [25, 10, 2];
/// Objects from which on they are worth knowing of whatever they hold.
const MANY: u64 = 10_000;
/// The class of the references that finalizable objects have.
const FINALIZER: &str = "java.lang.ref.Finalizer";

#[derive(Default)]
pub struct Finalizers {
    row: Option<ClassRow>,
}

impl Rule for Finalizers {
    fn see_class(&mut self, row: &ClassRow, heap: &Heap) {
        if self.row.is_none() && heap.class_name(row.class_id) == FINALIZER {
            self.row = Some(*row);
        }
    }

    fn report(&mut self, heap: &Heap, _context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        let found = self.row.and_then(|row| {
            let many = (row.count >= MANY).then_some(Severity::Low);
            let severity = severity(row.retained_bytes, heap.bytes, PERCENT).or(many)?;
            let mut finding = about_class("finalizer-queue", severity, row.class_id, heap);
            finding.count = row.count;
            finding.bytes = row.retained_bytes;
            finding.message = format!(
                "{} objects have a finalizer; these references retain {}",
                count(row.count),
                heap.share(row.retained_bytes)
            );
            finding.next_step =
                "Close what can be closed, and use java.lang.ref.Cleaner instead of finalize(); a slow finalizer holds up \
                 all others."
                    .to_owned();
            Some(finding)
        });
        Ok(found.into_iter().collect())
    }
}
