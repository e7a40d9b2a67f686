//! What a rule is, and how much bytes matter.

use super::heap::Heap;
use heaplake_kit::access::{Access, Size};
use heaplake_kit::{Job, StageError};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::{Finding, Severity};
use heaplake_schemas::scratch::Facts;

/// All that the stage knows of a rule.
pub struct Rule {
    /// Names of its findings, as in the table.
    pub names: &'static [&'static str],
    /// What it reads beyond what the stage reads for all rules.
    pub reads: &'static [Access],
    /// Arrays that it likes to have resident while it reports.
    pub arrays: &'static [Size],
    /// Bits for each node that it holds from the beginning.
    pub bits_per_node: u64,
    /// Bytes of candidates that it holds from the beginning, at most.
    pub candidates: u64,
    /// Bytes that it takes while it reports, at most, arrays apart.
    pub working: u64,
    /// What its findings tell of their cause.
    pub tells: Tells,
    /// Whether their bytes lie outside the heap.
    pub is_outside: bool,
    /// Begins.
    pub open: fn(&Job<'_>, &Facts) -> Opened,
    /// Leaves out those of its findings that findings of other rules make needless.
    pub settle: fn(&mut Vec<Finding>),
}

impl Rule {
    /// A rule that finds nothing, to be filled in.
    pub const NEW: Self = Self {
        names: &[],
        reads: &[],
        arrays: &[],
        bits_per_node: 0,
        candidates: 0,
        working: 0,
        tells: Tells::Mistake,
        is_outside: false,
        open: |_, _| Ok(Box::new(Nothing)),
        settle: |_| {},
    };
}

/// What a finding tells of the cause of what it found, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tells {
    /// That a package or the runtime keeps something for its life: no other finding about it makes that worse.
    Fact,
    /// Which mistake it is.
    Mistake,
    /// That memory serves for little where it is.
    Waste,
    /// The place where memory accumulates.
    Place,
    /// Objects that retain much, and no more.
    Mass,
    /// Where memory may accumulate, estimated from samples; no evidence for what is known exactly.
    Estimate,
    /// That there are copies: who holds them says more.
    Copies,
}

/// A rule at work, or why it cannot be.
pub type Opened = Result<Box<dyn Detector + Send>, StageError>;

struct Nothing;

impl Detector for Nothing {
    fn report(&mut self, _heap: &Heap) -> Result<Vec<Finding>, StageError> {
        Ok(Vec::new())
    }
}

/// A node as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub node: u32,
    pub class: u32,
    pub kind: u8,
    pub detached: bool,
    pub reachable: bool,
    /// Not reachable, and not alive by a root that was not recorded either.
    pub garbage: bool,
    /// Of the edges that leave it.
    pub edges: u32,
    pub dominator: u32,
    pub shallow: u64,
    pub native: u64,
    pub retained: u64,
}

/// What some nodes have at most, and whether any of them is so.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub shallow: u64,
    pub native: u64,
    pub retained: u64,
    pub detached: bool,
    pub unreachable: bool,
}

/// A rule at work: looks at all nodes and classes, then says what it found.
pub trait Detector {
    /// Is shown every node, in order, that it [minds](Self::minds), if the root reaches it.
    fn see(&mut self, _node: &Node) {}

    /// Whether it is shown the nodes that the root does not reach, too: nothing retains them, so they are no part of the heap
    /// whose parts rules judge.
    fn sees_garbage(&self) -> bool {
        false
    }

    /// Whether nodes that have so much at most can matter to it. Others it is not shown.
    fn minds(&self, _extent: &Extent) -> bool {
        false
    }

    /// Is shown nodes, some at a time: each rule has a loop of its own, and one that sees no nodes has none.
    fn see_all(&mut self, nodes: &[Node]) {
        let all = self.sees_garbage();
        nodes.iter().filter(|node| all || !node.garbage).for_each(|node| self.see(node));
    }

    /// Is shown every class, the largest first.
    fn see_class(&mut self, _row: &ClassRow, _heap: &Heap) {}

    /// What it found.
    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError>;
}

/// Bytes of a sorted map of so many entries: its nodes are at least half full.
pub const fn map_bytes<K, V>(entries: usize) -> u64 {
    (2 * entries * (size_of::<K>() + size_of::<V>())) as u64
}

/// Bytes of a list of so many elements.
pub const fn list_bytes<T>(elements: usize) -> u64 {
    (elements * size_of::<T>()) as u64
}

/// Bytes that must come together for a finding, whatever the heap.
pub const FLOOR: u64 = 1 << 20;
/// Bytes that must come together for one of high severity, and for one of medium severity that is no large part.
const HIGH_FLOOR: u64 = 4 << 20;
const MEDIUM_FLOOR: u64 = 2 << 20;
/// Percent of the heap that are a large part.
const LARGE: u64 = 25;

/// What bytes out of the heap amount to: so many percent of it for a high, a medium and a low severity.
pub fn severity(bytes: u64, heap: u64, percent: [u64; 3]) -> Option<Severity> {
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
        // Small heaps have small parts.
        assert_eq!(of(3 << 19, 10 << 20), Some(Severity::Low));
        assert_eq!(of(3 << 19, 5 << 20), Some(Severity::Medium));
        assert_eq!(of(1 << 19, 1 << 20), None);
        assert_eq!(of(u64::MAX, u64::MAX), Some(Severity::High));
    }
}
