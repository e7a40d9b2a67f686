//! Rule `sparse-array`: arrays of references, among them the tables of collections, that are mostly empty. For formats in
//! which the edges of an array are its elements that are not null (dumps of Java heaps).

use super::heap::{Heap, about_class};
use super::{Node, Rule, severity};
use heaplake_kit::text::{count, size};
use heaplake_kit::{Context, StageError};
use heaplake_schemas::findings::Finding;
use heaplake_schemas::scratch::Facts;
use std::collections::BTreeMap;

/// Percent of the heap from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [101, 10, 2];
/// Bytes of an array from which on it is looked at, and what it has beside its elements, at most.
const LEAST: u64 = 128;
const HEADER: u64 = 24;
/// One element in so many is there, at most.
const SPARSE: u64 = 4;
/// Classes that are told apart.
const CLASSES: usize = 1 << 14;

#[derive(Default)]
struct Tally {
    count: u64,
    /// Bytes of those arrays, and their elements that are there.
    bytes: u64,
    filled: u64,
    largest: (u64, u32),
}

pub struct SparseArrays {
    kind: Option<u8>,
    /// Bytes of a reference: 8, until an array is seen that holds more than fit.
    reference: u64,
    classes: BTreeMap<u32, Tally>,
}

impl SparseArrays {
    pub fn new(facts: &Facts) -> Self {
        let kind = facts.node_kinds.iter().position(|kind| kind == "object array");
        Self { kind: kind.map(|kind| kind as u8), reference: 8, classes: BTreeMap::new() }
    }
}

impl Rule for SparseArrays {
    fn see(&mut self, node: &Node) {
        if Some(node.kind) != self.kind || !node.reachable {
            return;
        }
        // One edge leads to the class.
        let filled = u64::from(node.edges).saturating_sub(1);
        if filled * 8 > node.shallow {
            self.reference = 4;
        }
        // Whatever a reference takes: that of four bytes is the stricter test.
        if node.shallow < LEAST || filled * 4 * SPARSE > node.shallow - HEADER {
            return;
        }
        if self.classes.len() == CLASSES && !self.classes.contains_key(&node.class) {
            return;
        }
        let tally = self.classes.entry(node.class).or_default();
        tally.count += 1;
        tally.bytes = tally.bytes.saturating_add(node.shallow - HEADER);
        tally.filled = tally.filled.saturating_add(filled);
        if node.shallow > tally.largest.0 {
            tally.largest = (node.shallow, node.node);
        }
    }

    fn report(&mut self, heap: &Heap, _context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        let reference = self.reference;
        let found = self.classes.iter().filter_map(|(&class, tally)| {
            let empty = tally.bytes.saturating_sub(tally.filled.saturating_mul(reference));
            let mut finding = about_class("sparse-array", severity(empty, heap.bytes, PERCENT)?, class, heap);
            finding.node = Some(tally.largest.1);
            finding.count = tally.count;
            finding.bytes = empty;
            finding.message = format!(
                "{} × {} hold {} elements and have {} of empty slots, the largest {}: {}",
                count(tally.count),
                finding.subject,
                count(tally.filled),
                heap.share(empty),
                size(tally.largest.0),
                heap.chain(tally.largest.1),
            );
            finding.next_step =
                "Give collections the capacity that they need, and make those that stay empty only when \
                                 they are used."
                    .to_owned();
            Some(finding)
        });
        Ok(found.collect())
    }
}
