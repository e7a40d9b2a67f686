//! Rule `finalizer-queue`: objects that wait to be finalized, or will have to.

use super::heap::{Found, Heap};
use super::rule::{Detector, Rule, severity};
use heaplake_kit::StageError;
use heaplake_kit::text::count;
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::{Finding, Severity};

pub(super) const RULE: Rule = Rule { names: &[NAME], open: |_, _| Ok(Box::<Finalizers>::default()), ..Rule::NEW };

const NAME: &str = "finalizer-queue";
/// Minimum percent of the heap of a high, medium, low finding.
const PERCENT: [u64; 3] = [25, 10, 2];
/// Number of objects that makes a finding whatever they retain.
const MANY: u64 = 10_000;

#[derive(Default)]
struct Finalizers {
    /// Row of the references that finalizable objects have.
    row: Option<ClassRow>,
}

impl Detector for Finalizers {
    fn see_class(&mut self, row: &ClassRow, heap: &Heap) {
        let Some(finalizers) = &heap.metadata.roles.finalizers else { return };
        if self.row.is_none() && heap.class_name(row.class_id) == finalizers.class {
            self.row = Some(*row);
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let advice = heap.metadata.roles.finalizers.as_ref().map_or("", |finalizers| &finalizers.advice);
        let found = self.row.and_then(|row| {
            let many = (row.count >= MANY).then_some(Severity::Low);
            let severity = severity(row.retained_bytes, heap.bytes, PERCENT).or(many)?;
            let found = Found { rule: NAME, severity, count: row.count, bytes: row.retained_bytes };
            let mut finding = found.about_class(row.class_id, None, heap);
            finding.message = format!(
                "{} objects have a finalizer; these references retain {}",
                count(row.count),
                heap.share(row.retained_bytes)
            );
            finding.next_step = advice.to_owned();
            Some(finding)
        });
        Ok(found.into_iter().collect())
    }
}
