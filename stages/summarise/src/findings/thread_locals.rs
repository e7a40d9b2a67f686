//! Rule `thread-locals`: what threads keep for themselves. Threads of a pool never end, and with them what they keep.

use super::heap::{Heap, about_class};
use super::{Rule, severity};
use heaplake_kit::text::count;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::Finding;

/// Percent of the heap from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [25, 10, 2];
/// The class of the maps that threads have.
const MAP: &str = "java.lang.ThreadLocal$ThreadLocalMap";

#[derive(Default)]
pub struct ThreadLocals {
    row: Option<ClassRow>,
}

impl Rule for ThreadLocals {
    fn see_class(&mut self, row: &ClassRow, heap: &Heap) {
        if self.row.is_none() && heap.class_name(row.class_id) == MAP {
            self.row = Some(*row);
        }
    }

    fn report(&mut self, heap: &Heap, _context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        let found = self.row.and_then(|row| {
            let severity = severity(row.retained_bytes, heap.bytes, PERCENT)?;
            let mut finding = about_class("thread-locals", severity, row.class_id, heap);
            finding.count = row.count;
            finding.bytes = row.retained_bytes;
            finding.message =
                format!("Thread locals of {} threads retain {}", count(row.count), heap.share(row.retained_bytes));
            finding.next_step = "Call ThreadLocal.remove() when the work is done, in a finally block.".to_owned();
            Some(finding)
        });
        Ok(found.into_iter().collect())
    }
}
