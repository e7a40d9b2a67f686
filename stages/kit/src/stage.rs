//! What every stage is given, says about itself, and gives back.

use crate::{Budget, StageError};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a stage tells the plan about itself.
///
/// A stage is fast when all its arrays are resident (`bytes_*`), and works, paging, from `least_fixed` on, with
/// `least_bits_per_node` more for every node.
#[derive(Clone, Copy, Debug)]
pub struct StageInfo {
    /// Name in progress bars, logs and the `snapshot` table.
    pub name: &'static str,
    /// Raised whenever the stage's output changes, so that old scratch is not reused.
    pub version: u32,
    /// Bytes per node of the arrays that it likes to have resident.
    pub bytes_per_node: u64,
    /// The same per edge.
    pub bytes_per_edge: u64,
    /// Bits per node that must be resident.
    pub least_bits_per_node: u64,
    /// Bytes that must be resident whatever the input.
    pub least_fixed: u64,
    /// Bytes per node that it leaves in scratch.
    pub scratch_per_node: u64,
    /// Bytes per edge that it leaves in scratch.
    pub scratch_per_edge: u64,
    /// What it goes through, in words.
    pub passes: &'static str,
}

impl StageInfo {
    /// Of a stage that holds so many bytes whatever the input, and leaves nothing in scratch that grows with it.
    #[must_use]
    pub const fn streaming(name: &'static str, least_fixed: u64, passes: &'static str) -> Self {
        Self {
            name,
            version: 1,
            bytes_per_node: 0,
            bytes_per_edge: 0,
            least_bits_per_node: 0,
            least_fixed,
            scratch_per_node: 0,
            scratch_per_edge: 0,
            passes,
        }
    }

    /// Bytes of budget below which the stage cannot work on an input of this size.
    #[must_use]
    pub fn least_bytes(&self, nodes: u64) -> u64 {
        self.least_fixed.saturating_add(self.least_bits_per_node.saturating_mul(nodes) / 8)
    }

    /// Bytes of budget from which on the stage pages nothing.
    #[must_use]
    pub fn resident_bytes(&self, nodes: u64, edges: u64) -> u64 {
        let (by_nodes, by_edges) =
            (self.bytes_per_node.saturating_mul(nodes), self.bytes_per_edge.saturating_mul(edges));
        self.least_bytes(nodes).saturating_add(by_nodes).saturating_add(by_edges)
    }

    /// Bytes that the stage leaves in scratch.
    #[must_use]
    pub fn scratch_bytes(&self, nodes: u64, edges: u64) -> u64 {
        let (by_nodes, by_edges) =
            (self.scratch_per_node.saturating_mul(nodes), self.scratch_per_edge.saturating_mul(edges));
        by_nodes.saturating_add(by_edges)
    }
}

/// What a stage did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Rows of its main output.
    pub rows: u64,
    /// Bytes that it wrote to scratch only because they did not fit the budget or had to be brought into order.
    pub spilled_bytes: u64,
}

/// Hears how far a stage has come.
pub trait Progress: Sync {
    /// A stage begins; its work is `total` units (bytes, nodes or edges, as the stage sees fit), 0 when unknown.
    fn begin(&self, stage: &'static str, total: u64);
    /// So many units are done since the last call.
    fn advance(&self, units: u64);
    /// The stage is over.
    fn end(&self);
}

/// A sink for runs that nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _stage: &'static str, _total: u64) {}
    fn advance(&self, _units: u64) {}
    fn end(&self) {}
}

/// What a stage is given besides its input and output.
pub struct Context<'a> {
    /// Bounds what the stage allocates.
    pub budget: Budget,
    /// Threads that the stage may use, at least 1.
    pub threads: usize,
    /// Hears of progress.
    pub progress: &'a dyn Progress,
    /// Set from outside when the run must stop.
    pub cancel: &'a AtomicBool,
}

impl Context<'_> {
    /// Returns an error once the run was asked to stop. Stages call it at least every few milliseconds.
    ///
    /// # Errors
    /// [`StageError::Cancelled`].
    #[inline]
    pub fn check(&self) -> Result<(), StageError> {
        if self.cancel.load(Ordering::Relaxed) { Err(StageError::Cancelled) } else { Ok(()) }
    }

    /// Tells that `units` of work are done, and checks for a request to stop.
    ///
    /// # Errors
    /// [`StageError::Cancelled`].
    pub fn step(&self, units: u64) -> Result<(), StageError> {
        self.progress.advance(units);
        self.check()
    }
}
