//! Rule `detached-dom`: DOM nodes that are in no document any more and are still held.

use super::heap::{Heap, blank};
use super::rule::{Detector, Node, Rule, list_bytes, severity};
use heaplake_kit::StageError;
use heaplake_kit::text::count;
use heaplake_schemas::findings::{Finding, Scope, Severity};

/// The rule.
pub const RULE: Rule = Rule {
    names: &[NAME],
    candidates: list_bytes::<Node>(TOPS) + list_bytes::<u32>(TOPS),
    open: |_, _| Ok(Box::<Detached>::default()),
    ..Rule::NEW
};

const NAME: &str = "detached-dom";
/// Percent of the heap from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [10, 5, 1];
/// Nodes from which on it is worth a look whatever they weigh.
const SOME: u64 = 50;
/// Roots of detached trees that are remembered.
const TOPS: usize = 1 << 15;

#[derive(Default)]
struct Detached {
    count: u64,
    /// Detached nodes and their dominators, as long as there is room.
    tops: Vec<Node>,
}

impl Detector for Detached {
    fn see(&mut self, node: &Node) {
        if node.detached {
            self.count += 1;
            if self.tops.len() < TOPS {
                self.tops.push(*node);
            }
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let detached: Vec<u32> = self.tops.iter().map(|node| node.node).collect();
        // A node that another detached node dominates is counted with it.
        let tops = || self.tops.iter().filter(|node| detached.binary_search(&node.dominator).is_err());
        let bytes: u64 = tops().map(|node| node.retained).sum();
        let Some(largest) = tops().max_by_key(|node| (node.retained, std::cmp::Reverse(node.node))) else {
            return Ok(Vec::new());
        };
        let severity = match severity(bytes, heap.bytes, PERCENT) {
            None if self.count >= SOME => Severity::Low,
            None => return Ok(Vec::new()),
            Some(severity) => severity,
        };
        let mut finding = blank(NAME, severity, Scope::Node, heap.shown_class(largest.class));
        finding.class_id = Some(largest.class);
        finding.node = Some(largest.node);
        finding.count = self.count;
        finding.bytes = bytes;
        finding.message = format!(
            "{} DOM nodes are detached and still held; they retain {}. The largest tree: {}",
            count(self.count),
            heap.share(bytes),
            heap.chain(largest.node),
        );
        finding.next_step =
            "Drop the references to removed elements: listeners, caches of elements, closures over them.".to_owned();
        Ok(vec![finding])
    }
}
