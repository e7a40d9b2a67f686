//! What every stage is given, says about itself, and gives back.

use crate::{Budget, StageError};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a stage tells the plan about itself.
#[derive(Clone, Copy, Debug)]
pub struct StageInfo {
    /// Name in progress bars, logs and the `snapshot` table.
    pub name: &'static str,
    /// Raised whenever the stage's output changes, so that old scratch is not reused.
    pub version: u32,
    /// Resident bytes per node.
    pub bytes_per_node: u64,
    /// Resident bytes per edge.
    pub bytes_per_edge: u64,
    /// Resident bytes whatever the input.
    pub bytes_fixed: u64,
}

impl StageInfo {
    /// Bytes of budget that the stage needs for an input of this size.
    #[must_use]
    pub fn resident_bytes(&self, nodes: u64, edges: u64) -> u64 {
        let (by_nodes, by_edges) =
            (self.bytes_per_node.saturating_mul(nodes), self.bytes_per_edge.saturating_mul(edges));
        self.bytes_fixed.saturating_add(by_nodes).saturating_add(by_edges)
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
