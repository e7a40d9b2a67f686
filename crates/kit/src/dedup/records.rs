//! The input of both passes.

use crate::StageError;

/// Receives the records of nodes, in ascending node order.
pub trait Records {
    /// Begins the record of a node. Returns false if the record is not needed because it is unique.
    fn begin(&mut self, node: u32) -> Result<bool, StageError>;

    /// Receives the next word of the record.
    fn word(&mut self, word: u64) -> Result<(), StageError>;

    /// Ends the record; returns the first node with the same record, as known to this pass.
    fn end(&mut self) -> Result<u32, StageError>;
}
