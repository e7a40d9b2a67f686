//! Rule `sparse-array`: arrays that are mostly empty. Where the edges of an array are its elements that are not null
//! (dumps of Java heaps), all arrays of references but those inside collections, which have rules of their own; and
//! arrays of which the reader of the format says so.

use super::heap::{Heap, about_class};
use super::{Node, Rule, containers, severity};
use heaplake_kit::text::{count, size};
use heaplake_kit::{Bitset, ColumnReader, Context, Scratch, StageError};
use heaplake_schemas::containers::flags;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::scratch::{self as columns, Facts};
use std::collections::BTreeMap;

const RULE: &str = "sparse-array";
const NEXT: &str =
    "Make arrays as large as what is in them, or use a map from index to element where those lie far apart.";

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
    /// Arrays inside collections.
    stores: Bitset,
    /// Bytes of a reference: 8, until an array is seen that holds more than fit.
    reference: u64,
    classes: BTreeMap<u32, Tally>,
}

impl SparseArrays {
    pub fn new(facts: &Facts, scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let kind = facts.node_kinds.iter().position(|kind| kind == "object array");
        let nodes = if kind.is_some() { facts.node_count as usize } else { 0 };
        let mut stores = Bitset::new(&context.budget, "findings: arrays of collections", nodes)?;
        if nodes > 0 && scratch.has(columns::CONTAINER_ROW) {
            let mut rows = ColumnReader::open(scratch, columns::CONTAINER_ROW)?;
            while rows.remaining() > 0 {
                let store = rows.next()?.store as usize;
                if store < nodes {
                    stores.insert(store);
                }
            }
        }
        Ok(Self { kind: kind.map(|kind| kind as u8), stores, reference: 8, classes: BTreeMap::new() })
    }
}

impl Rule for SparseArrays {
    fn see(&mut self, node: &Node) {
        if Some(node.kind) != self.kind || !node.reachable || self.stores.contains(node.node as usize) {
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

    fn report(&mut self, heap: &Heap, context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        let reference = self.reference;
        let found = self.classes.iter().filter_map(|(&class, tally)| {
            let empty = tally.bytes.saturating_sub(tally.filled.saturating_mul(reference));
            let mut finding = about_class(RULE, severity(empty, heap.bytes, PERCENT)?, class, heap);
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
            finding.next_step = NEXT.to_owned();
            Some(finding)
        });
        let mut found: Vec<Finding> = found.collect();
        found.append(&mut containers::judge(
            RULE,
            PERCENT,
            NEXT,
            heap,
            context,
            |container| (container.row.flags & flags::SPARSE != 0).then_some(container.row.spare_bytes),
            |crowd, what| {
                let (entries, share) = (count(crowd.entries), heap.share(crowd.bytes));
                format!("{what} hold {entries} objects far apart: {share} of empty slots")
            },
        )?);
        Ok(found)
    }
}
