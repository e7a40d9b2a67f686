//! What both passes are fed with.

use crate::StageError;

/// Takes records of nodes, in ascending order of the nodes.
pub trait Records {
    /// Begins the record of a node; says whether it is wanted. If not, no other node has the same record.
    ///
    /// # Errors
    /// [`StageError::Io`].
    fn begin(&mut self, node: u32) -> Result<bool, StageError>;

    /// Takes the next word of the record.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    fn word(&mut self, word: u64) -> Result<(), StageError>;

    /// Ends the record; gives the first node with the same one, as far as this pass knows.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    fn end(&mut self) -> Result<u32, StageError>;
}
