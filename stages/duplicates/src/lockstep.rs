//! Compares two nodes by all that they reach.
//!
//! Slots are ordered, so the only possible map from one node to the other follows equal slots from both. Where both
//! sides reach the same node, the map must be the identity on that node and on all that it reaches. So the search stops
//! there, and finally checks that such nodes reach no node that the map moves.
//!
//! The size of the map is limited, and beyond the limit nothing is decided. The limit is a constant: were it the free
//! memory, the budget would decide which duplicates are certain.

use crate::slots::{SlotArrays, Slots};
use heaplake_kit::{Context, Lookup, ReadAt, StageError};
use heaplake_schemas::ids::NodeId;
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The nodes are duplicates; [`Lockstep::moved`] returns the map.
    Same,
    Different,
    /// The work or the tables did not suffice.
    Unknown,
}

/// Maximum bytes of the tables. A stage that compares reserves them, whatever its budget.
pub(crate) const BYTES: u64 = 16 << 20;

/// Upper bound of the bytes per entry of the tables, even while one grows.
const ENTRY: u64 = 64;

/// Maximum number of entries of the tables.
const MOST: usize = (BYTES / ENTRY) as usize;

/// Larger tables are dropped after a comparison.
const SMALL: usize = 1 << 10;

/// The memory of comparisons, reused by all of them.
pub(crate) struct Lockstep {
    forwards: FxHashMap<u32, u32>,
    backwards: FxHashMap<u32, u32>,
    fixed: FxHashSet<u32>,
    /// Pairs whose slots are still to be compared.
    queue: Vec<(u32, u32)>,
    below: FxHashSet<u32>,
    most: usize,
}

impl Lockstep {
    /// Returns tables of at most [`BYTES`].
    pub(crate) fn new() -> Self {
        Self::of_at_most(MOST)
    }

    fn of_at_most(most: usize) -> Self {
        Self {
            forwards: FxHashMap::default(),
            backwards: FxHashMap::default(),
            fixed: FxHashSet::default(),
            queue: Vec::new(),
            below: FxHashSet::default(),
            most,
        }
    }

    /// Pairs of different nodes that the map takes to each other, after [`Verdict::Same`].
    pub(crate) fn moved(&self) -> impl Iterator<Item = (u32, u32)> {
        self.forwards.iter().map(|(&left, &right)| (left, right))
    }

    pub(crate) fn moves(&self, node: u32) -> bool {
        self.forwards.contains_key(&node)
    }

    /// Compares two different nodes. Charges the cost to `work`, and stops when it is used up.
    pub(crate) fn compare(
        &mut self,
        (left, right): (u32, u32),
        graph: &mut Graph,
        work: &mut u64,
        context: &Context<'_>,
    ) -> Result<Verdict, StageError> {
        self.clear();
        if let Some(verdict) = self.pair(left, right) {
            return Ok(verdict);
        }
        let mut compared = 0u64;
        while let Some((left, right)) = self.queue.pop() {
            compared += 1;
            context.check_every(1 << 12, compared)?;
            if graph.candidates.get(left as usize)? != graph.candidates.get(right as usize)?
                || graph.values.get(left as usize)? != graph.values.get(right as usize)?
            {
                return Ok(Verdict::Different);
            }
            let (a, b) = (graph.slots.of(left)?, graph.slots.of(right)?);
            if a.len() != b.len() {
                return Ok(Verdict::Different);
            }
            if !charge(work, a.len()) {
                return Ok(Verdict::Unknown);
            }
            for (a, b) in a.zip(b) {
                let (a, b) = (graph.slots.to(a)?, graph.slots.to(b)?);
                if let Some(verdict) = self.pair(a, b) {
                    return Ok(verdict);
                }
            }
        }
        self.check_fixed(graph, work, context)
    }

    /// Clears the tables in time proportional to the last comparison: clearing a table takes time in its capacity, and
    /// one comparison may have made it large.
    fn clear(&mut self) {
        for map in [&mut self.forwards, &mut self.backwards] {
            if map.capacity() > SMALL { *map = FxHashMap::default() } else { map.clear() }
        }
        if self.fixed.capacity() > SMALL {
            self.fixed = FxHashSet::default();
        } else {
            self.fixed.clear();
        }
        self.queue.clear();
    }

    /// Records that `left` maps to `right`. Returns a verdict if that contradicts the map so far, or if the tables are
    /// full.
    #[inline]
    fn pair(&mut self, left: u32, right: u32) -> Option<Verdict> {
        let full = self.forwards.len() + self.fixed.len() >= self.most;
        if left == right {
            if self.forwards.contains_key(&left) || self.backwards.contains_key(&left) {
                return Some(Verdict::Different);
            }
            if full && !self.fixed.contains(&left) {
                return Some(Verdict::Unknown);
            }
            self.fixed.insert(left);
            return None;
        }
        match (self.forwards.get(&left), self.backwards.get(&right)) {
            (None, None) if self.fixed.contains(&left) || self.fixed.contains(&right) => Some(Verdict::Different),
            (None, None) if full => Some(Verdict::Unknown),
            (None, None) => {
                self.forwards.insert(left, right);
                self.backwards.insert(right, left);
                self.queue.push((left, right));
                None
            }
            (Some(&known), _) if known == right => None,
            _ => Some(Verdict::Different),
        }
    }

    /// Checks that the nodes on which the map is the identity reach no node that it moves.
    fn check_fixed(&mut self, graph: &mut Graph, work: &mut u64, context: &Context<'_>) -> Result<Verdict, StageError> {
        if self.fixed.is_empty() {
            return Ok(Verdict::Same);
        }
        // A node reaches only its own component and components with lower numbers.
        let mut lowest = u32::MAX;
        for &node in self.forwards.keys().chain(self.backwards.keys()) {
            lowest = lowest.min(graph.components.get(node as usize)?);
        }
        self.below = FxHashSet::default();
        self.queue.clear();
        for &node in &self.fixed {
            if graph.components.get(node as usize)? >= lowest {
                self.below.insert(node);
                self.queue.push((node, node));
            }
        }
        let mut looked_at = 0u64;
        while let Some((node, _)) = self.queue.pop() {
            looked_at += 1;
            context.check_every(1 << 12, looked_at)?;
            let range = graph.slots.of(node)?;
            if !charge(work, range.len()) {
                return Ok(Verdict::Unknown);
            }
            for slot in range {
                let target = graph.slots.to(slot)?;
                if self.forwards.contains_key(&target) || self.backwards.contains_key(&target) {
                    return Ok(Verdict::Different);
                }
                if graph.components.get(target as usize)? >= lowest && self.below.insert(target) {
                    if self.below.len() + self.forwards.len() > self.most {
                        return Ok(Verdict::Unknown);
                    }
                    self.queue.push((target, target));
                }
            }
        }
        Ok(Verdict::Same)
    }
}

/// Charges the slots of a node; returns whether the remaining work sufficed. The rest is used up in any case.
fn charge(work: &mut u64, slots: usize) -> bool {
    let enough = *work >= slots as u64;
    *work = work.saturating_sub(slots as u64);
    enough
}

/// The graph that comparisons read.
pub(crate) struct Graph {
    pub slots: SlotArrays,
    pub values: Lookup<NodeId>,
    pub candidates: Lookup<NodeId>,
    pub components: Lookup<u32>,
}
