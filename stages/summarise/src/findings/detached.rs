//! Rule `detached-dom`: DOM nodes outside all documents that are still retained. Runtimes without documents mark native
//! objects of their own in the same way; the rule ignores those.

use super::heap::{Found, Heap};
use super::rule::{Detector, Extent, Node, Rule, Tells, bounded, list_bytes, map_bytes, severity};
use heaplake_kit::StageError;
use heaplake_kit::text::count;
use heaplake_schemas::findings::{Finding, Severity};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    names: &[NAME],
    candidates: list_bytes::<Node>(TOPS) + list_bytes::<u32>(TOPS) + map_bytes::<u32, u64>(CLASSES),
    tells: Tells::Waste,
    open: |_, _| Ok(Box::<Detached>::default()),
    ..Rule::NEW
};

const NAME: &str = "detached-dom";
/// Minimum percent of the heap of a high, medium, low finding.
const PERCENT: [u64; 3] = [10, 5, 1];
/// Number of nodes that makes a finding whatever their size.
const SOME: u64 = 50;
/// Maximum number of roots of detached trees.
const TOPS: usize = 1 << 15;
/// Maximum number of their classes.
const CLASSES: usize = 1 << 12;

#[derive(Default)]
struct Detached {
    /// Number of detached nodes of each class.
    counts: BTreeMap<u32, u64>,
    /// Detached nodes and their dominators, up to [`TOPS`].
    tops: Vec<Node>,
}

impl Detector for Detached {
    fn may_match(&self, extent: &Extent) -> bool {
        extent.detached
    }

    fn see(&mut self, node: &Node) {
        if node.detached {
            bounded(&mut self.counts, CLASSES, node.class).into_iter().for_each(|count| *count += 1);
            if self.tops.len() < TOPS {
                self.tops.push(*node);
            }
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        self.counts.retain(|&class, _| !heap.metadata.roles.no_documents.fit(&heap.class_name(class)));
        self.tops.retain(|node| self.counts.contains_key(&node.class));
        let all: u64 = self.counts.values().sum();
        let detached: Vec<u32> = self.tops.iter().map(|node| node.node).collect();
        // A node dominated by another detached node is counted with it.
        let tops = || self.tops.iter().filter(|node| detached.binary_search(&node.dominator).is_err());
        let bytes: u64 = tops().map(|node| node.retained).sum();
        let Some(largest) = tops().max_by_key(|node| (node.retained, std::cmp::Reverse(node.node))) else {
            return Ok(Vec::new());
        };
        let severity = match severity(bytes, heap.bytes, PERCENT) {
            None if all >= SOME => Severity::Low,
            None => return Ok(Vec::new()),
            Some(severity) => severity,
        };
        let mut finding = Found { rule: NAME, severity, count: all, bytes }.about_node(largest.node, heap);
        finding.message = format!(
            "{} DOM nodes are detached and still held; they retain {}. The largest tree: {}",
            count(all),
            heap.share(bytes),
            heap.chain(largest.node),
        );
        finding.next_step =
            "Drop the references to removed elements: listeners, caches of elements, closures over them.".to_owned();
        Ok(vec![finding])
    }
}
