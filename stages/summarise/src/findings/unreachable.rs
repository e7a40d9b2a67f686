//! Rule `unreachable`: garbage that the snapshot still has, in formats that keep it.

use super::heap::{Heap, blank};
use super::{Node, Rule, severity};
use heaplake_kit::text::count;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::findings::{Finding, Scope};

/// Percent of the heap and of the garbage together from which on a finding is high (never), medium, low.
const PERCENT: [u64; 3] = [101, 20, 5];

#[derive(Default)]
pub struct Unreachable {
    count: u64,
    bytes: u64,
}

impl Rule for Unreachable {
    fn see(&mut self, node: &Node) {
        if !node.reachable {
            self.count += 1;
            self.bytes = self.bytes.saturating_add(node.shallow);
        }
    }

    fn report(&mut self, heap: &Heap, _context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        let all = heap.bytes.saturating_add(self.bytes);
        let Some(severity) = severity(self.bytes, all, PERCENT) else { return Ok(Vec::new()) };
        let mut finding = blank("unreachable", severity, Scope::Snapshot, "garbage".to_owned());
        finding.count = self.count;
        finding.bytes = self.bytes;
        finding.message = format!(
            "{} objects of {} are garbage that was not collected yet, beside {} that are held",
            count(self.count),
            heaplake_kit::text::size(self.bytes),
            heaplake_kit::text::size(heap.bytes),
        );
        finding.next_step =
            "Collect before the snapshot is taken (live objects only) to see what stays; much garbage means much allocation."
                .to_owned();
        Ok(vec![finding])
    }
}
