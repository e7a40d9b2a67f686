//! Rule `unreachable`: garbage that the snapshot still has, in formats that keep it.

use super::heap::{Heap, blank};
use super::rule::{Detector, Extent, Node, Rule, severity};
use heaplake_kit::StageError;
use heaplake_kit::text::{count, size};
use heaplake_schemas::findings::{Finding, Scope};

/// The rule.
pub const RULE: Rule = Rule { names: &[NAME], open: |_, _| Ok(Box::<Unreachable>::default()), ..Rule::NEW };

const NAME: &str = "unreachable";
/// Percent of the heap and of the garbage together from which on a finding is high (never), medium, low.
const PERCENT: [u64; 3] = [101, 20, 5];

#[derive(Default)]
struct Unreachable {
    count: u64,
    bytes: u64,
}

impl Detector for Unreachable {
    fn minds(&self, extent: &Extent) -> bool {
        extent.unreachable
    }

    fn see(&mut self, node: &Node) {
        if !node.reachable {
            self.count += 1;
            self.bytes = self.bytes.saturating_add(node.shallow);
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let all = heap.bytes.saturating_add(self.bytes);
        let Some(severity) = severity(self.bytes, all, PERCENT) else { return Ok(Vec::new()) };
        let mut finding = blank(NAME, severity, Scope::Snapshot, "garbage".to_owned());
        finding.count = self.count;
        finding.bytes = self.bytes;
        finding.message = format!(
            "{} objects of {} are garbage that was not collected yet, beside {} that are held",
            count(self.count),
            size(self.bytes),
            size(heap.bytes),
        );
        finding.next_step =
            "Collect before the snapshot is taken (live objects only) to see what stays; much garbage means much allocation."
                .to_owned();
        Ok(vec![finding])
    }
}
