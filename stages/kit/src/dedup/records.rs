//! The input of both passes.

use crate::StageError;

/// Receives the records of nodes, in ascending order of the nodes.
pub trait Records {
    /// Begins the record of a node. Returns false if the record is not needed because no other node has the same one.
    ///
    /// # Errors
    /// [`StageError::Io`].
    fn begin(&mut self, node: u32) -> Result<bool, StageError>;

    /// Receives the next word of the record.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    fn word(&mut self, word: u64) -> Result<(), StageError>;

    /// Ends the record and returns the first node with the same record, as far as this pass knows.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    fn end(&mut self) -> Result<u32, StageError>;
}
