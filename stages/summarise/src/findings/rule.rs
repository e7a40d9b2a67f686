//! Declaration of rules, and severity by bytes.

use super::heap::Heap;
use heaplake_kit::access::{Access, Size};
use heaplake_kit::{Job, StageError};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::{Finding, Severity};
use heaplake_schemas::scratch::Metadata;
use std::collections::BTreeMap;

/// Declaration of a rule.
pub(super) struct Rule {
    /// Names of its findings, as in the table.
    pub names: &'static [&'static str],
    /// Inputs beyond those of all rules.
    pub reads: &'static [Access],
    /// Arrays that are resident during the report, if the budget allows it.
    pub arrays: &'static [Size],
    /// Bits per node held from the beginning.
    pub bits_per_node: u64,
    /// Maximum bytes of candidates held from the beginning.
    pub candidates: u64,
    /// Maximum bytes used during the report, without arrays.
    pub working: u64,
    /// Evidence of its findings about their cause.
    pub tells: Tells,
    /// Whether their bytes lie outside the heap.
    pub is_outside: bool,
    pub open: fn(&Job<'_>, &Metadata) -> Opened,
    /// Suppresses findings that other rules cover.
    pub suppress: fn(&mut Vec<Finding>),
}

impl Rule {
    /// A rule without findings, to be filled in.
    pub(super) const NEW: Self = Self {
        names: &[],
        reads: &[],
        arrays: &[],
        bits_per_node: 0,
        candidates: 0,
        working: 0,
        tells: Tells::Mistake,
        is_outside: false,
        open: |_, _| Ok(Box::new(Nothing)),
        suppress: |_| {},
    };
}

/// Evidence of a finding about its cause, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tells {
    /// A package or the runtime keeps something for its lifetime: no other finding about it raises its severity.
    Fact,
    /// A certain mistake.
    Mistake,
    /// Memory of little use.
    Waste,
    /// The place where memory accumulates.
    Place,
    /// Objects that retain much, and no more.
    Mass,
    /// A place where memory may accumulate, estimated from samples; no evidence besides exact findings.
    Estimate,
    /// Copies: their holder says more.
    Copies,
}

/// An opened detector.
pub(super) type Opened = Result<Box<dyn Detector + Send>, StageError>;

struct Nothing;

impl Detector for Nothing {
    fn report(&mut self, _heap: &Heap) -> Result<Vec<Finding>, StageError> {
        Ok(Vec::new())
    }
}

/// A node with the columns that rules read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub node: u32,
    pub class: u32,
    pub kind: u8,
    pub detached: bool,
    pub reachable: bool,
    /// Not reachable, and not alive by an unrecorded root either.
    pub garbage: bool,
    /// Number of outgoing edges.
    pub edges: u32,
    pub dominator: u32,
    pub shallow: u64,
    pub native: u64,
    pub retained: u64,
}

/// Zone map of a batch of nodes: maxima and flags.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub shallow: u64,
    pub native: u64,
    pub retained: u64,
    pub detached: bool,
    pub unreachable: bool,
}

/// A rule at work: sees nodes and classes, then reports.
pub(super) trait Detector {
    /// Sees each node of the batches that [`Self::may_match`] accepts, in order, without garbage.
    fn see(&mut self, _node: &Node) {}

    /// Whether the rule also sees garbage. Nothing retains garbage, so it is no part of the heap that most rules judge.
    fn sees_garbage(&self) -> bool {
        false
    }

    /// False lets the sweep skip the batch.
    fn may_match(&self, _extent: &Extent) -> bool {
        false
    }

    /// Sees a batch of nodes: each rule has its own loop, and a rule without nodes has none.
    fn see_all(&mut self, nodes: &[Node]) {
        let all = self.sees_garbage();
        nodes.iter().filter(|node| all || !node.garbage).for_each(|node| self.see(node));
    }

    /// Sees every class, the largest first.
    fn see_class(&mut self, _row: &ClassRow, _heap: &Heap) {}

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError>;
}

/// Returns the entry of a key; `None` if it is new and the map has `most` entries.
pub(super) fn bounded<K: Ord, V: Default>(map: &mut BTreeMap<K, V>, most: usize, key: K) -> Option<&mut V> {
    (map.len() < most || map.contains_key(&key)).then(|| map.entry(key).or_default())
}

/// Maximum bytes of a sorted map: its nodes are at least half full.
pub(super) const fn map_bytes<K, V>(entries: usize) -> u64 {
    (2 * entries * (size_of::<K>() + size_of::<V>())) as u64
}

pub(super) const fn list_bytes<T>(elements: usize) -> u64 {
    (elements * size_of::<T>()) as u64
}

/// Minimum bytes of a finding, whatever the heap.
pub(super) const FLOOR: u64 = 1 << 20;
/// Minimum bytes of high severity, and of medium severity below a large part of the heap.
const HIGH_FLOOR: u64 = 4 << 20;
const MEDIUM_FLOOR: u64 = 2 << 20;
/// Percent of the heap of a large part.
const LARGE: u64 = 25;

/// Severity of bytes in a heap, by the minimum percent of a high, medium and low one.
pub(crate) fn severity(bytes: u64, heap: u64, percent: [u64; 3]) -> Option<Severity> {
    let at_least = |percent: u64| u128::from(bytes) * 100 >= u128::from(heap) * u128::from(percent);
    match percent {
        [high, _, _] if at_least(high) && bytes >= HIGH_FLOOR => Some(Severity::High),
        [_, medium, _] if at_least(medium.max(LARGE)) && bytes >= FLOOR => Some(Severity::Medium),
        [_, medium, _] if at_least(medium) && bytes >= MEDIUM_FLOOR => Some(Severity::Medium),
        [_, _, low] if at_least(low) && bytes >= FLOOR => Some(Severity::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_wants_a_part_and_a_floor() {
        let of = |bytes, heap| severity(bytes, heap, [25, 10, 5]);
        assert_eq!(of(30 << 20, 100 << 20), Some(Severity::High));
        assert_eq!(of(3 << 20, 4 << 20), Some(Severity::Medium));
        assert_eq!(of(6 << 20, 100 << 20), Some(Severity::Low));
        // Parts of small heaps are small.
        assert_eq!(of(3 << 19, 10 << 20), Some(Severity::Low));
        assert_eq!(of(3 << 19, 5 << 20), Some(Severity::Medium));
        assert_eq!(of(1 << 19, 1 << 20), None);
        assert_eq!(of(u64::MAX, u64::MAX), Some(Severity::High));
    }
}
