//! Rule `sparse-array`: arrays that are mostly empty. If the edges of an array are its non-null elements (dumps of Java
//! heaps), the rule checks all arrays of references outside containers, which have rules of their own; and it reports
//! arrays that the reader of the format marks as sparse.

use super::class_roles::Kinds;
use super::containers::{self, Judge};
use super::heap::{Found, Heap};
use super::rule::{Detector, Extent, Node, Rule, bounded, map_bytes, severity};
use heaplake_kit::text::{count, size};
use heaplake_kit::{Bitset, Job, StageError};
use heaplake_schemas::containers::flags;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::scratch::{self as columns, Metadata};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    names: &[JUDGE.name],
    bits_per_node: 1,
    candidates: map_bytes::<u32, Tally>(CLASSES),
    open: |job, metadata| Ok(Box::new(SparseArrays::new(metadata, job)?)),
    ..containers::BASE
};

/// Judges the arrays that the reader of the format marks.
const JUDGE: Judge = Judge {
    name: "sparse-array",
    percent: PERCENT,
    next_step: "Make arrays as large as what is in them, or use a map from index to element where those lie far apart.",
    bytes: |container| (container.row.flags & flags::SPARSE != 0).then_some(container.row.spare_bytes),
    message: |crowd, what, heap| {
        let (entries, share) = (count(crowd.entries), heap.share(crowd.bytes));
        format!("{what} hold {entries} objects far apart: {share} of empty slots")
    },
};

/// Minimum percent of the heap of a high (never), medium, low finding.
const PERCENT: [u64; 3] = [101, 10, 2];
/// Minimum bytes of an array, and maximum bytes of its header.
const LEAST: u64 = 128;
const HEADER: u64 = 24;
/// At most one element in this many is non-null.
const SPARSE: u64 = 4;
/// Maximum number of classes.
const CLASSES: usize = 1 << 14;

#[derive(Default)]
struct Tally {
    count: u64,
    /// Bytes of those arrays, and number of their non-null elements.
    bytes: u64,
    filled: u64,
    largest: (u64, u32),
}

struct SparseArrays {
    kinds: Kinds,
    /// Arrays inside containers.
    stores: Bitset,
    /// Bytes of a reference: 8, until an array holds more elements than fit.
    reference: u64,
    classes: BTreeMap<u32, Tally>,
}

impl SparseArrays {
    fn new(metadata: &Metadata, job: &Job<'_>) -> Result<Self, StageError> {
        let kinds = Kinds::of(&metadata.roles.reference_arrays, metadata);
        let nodes = if kinds.any() { metadata.node_count as usize } else { 0 };
        let mut stores = Bitset::new(&job.context.budget, "findings: arrays of containers", nodes)?;
        if nodes > 0 {
            job.each_row_if_any(columns::CONTAINER_ROW, |row| {
                if (row.store as usize) < nodes {
                    stores.insert(row.store as usize);
                }
                Ok(())
            })?;
        }
        Ok(Self { kinds, stores, reference: 8, classes: BTreeMap::new() })
    }
}

impl Detector for SparseArrays {
    fn may_match(&self, _extent: &Extent) -> bool {
        self.kinds.any()
    }

    fn see(&mut self, node: &Node) {
        if !self.kinds.has(node.kind) || self.stores.contains(node.node as usize) {
            return;
        }
        // One edge leads to the class.
        let filled = u64::from(node.edges).saturating_sub(1);
        if filled * 8 > node.shallow {
            self.reference = 4;
        }
        // References have four bytes here, the more lenient assumption: with eight, up to half of the elements may be
        // non-null.
        if node.shallow < LEAST || filled * 4 * SPARSE > node.shallow - HEADER {
            return;
        }
        let Some(tally) = bounded(&mut self.classes, CLASSES, node.class) else { return };
        tally.count += 1;
        tally.bytes = tally.bytes.saturating_add(node.shallow - HEADER);
        tally.filled = tally.filled.saturating_add(filled);
        if node.shallow > tally.largest.0 {
            tally.largest = (node.shallow, node.node);
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let found = self.classes.iter().filter_map(|(&class, tally)| tally.finding(class, self.reference, heap));
        let mut found: Vec<Finding> = found.collect();
        let mut judge = JUDGE;
        found.append(&mut judge.report(heap)?);
        Ok(found)
    }
}

impl Tally {
    /// Finding about the arrays of a class, with references of this size.
    fn finding(&self, class: u32, reference: u64, heap: &Heap) -> Option<Finding> {
        let empty = self.bytes.saturating_sub(self.filled.saturating_mul(reference));
        let severity = severity(empty, heap.bytes, PERCENT)?;
        let found = Found { rule: JUDGE.name, severity, count: self.count, bytes: empty };
        let mut finding = found.about_class(class, Some(self.largest.1), heap);
        finding.message = format!(
            "{} hold {} elements and have {} of empty slots, the largest {}: {}",
            heap.objects(self.count, class, None),
            count(self.filled),
            heap.share(empty),
            size(self.largest.0),
            heap.chain(self.largest.1),
        );
        finding.next_step = JUDGE.next_step.to_owned();
        Some(finding)
    }
}
