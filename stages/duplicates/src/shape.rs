//! Counts that determine the sizes of arrays.

use heaplake_kit::{ColumnReader, Scratch, StageError};
use heaplake_schemas::scratch as columns;

/// Counts of the equality graph.
pub(crate) struct Shape {
    pub nodes: usize,
    pub slots: u64,
    pub inner: u64,
    /// Number of nodes of the largest component.
    pub largest: usize,
}

impl Shape {
    /// Reads the counts of the graph in a scratch folder.
    pub(crate) fn of(scratch: &Scratch) -> Result<Self, StageError> {
        let slots = ColumnReader::open(scratch, columns::EQUAL_TO)?.remaining();
        let mut degrees = ColumnReader::open(scratch, columns::EQUAL_DEGREE)?;
        let mut shape = Self { nodes: degrees.remaining() as usize, slots, inner: 0, largest: 1 };
        while degrees.remaining() > 0 {
            shape.inner += u64::from(degrees.next()? > 0);
        }
        let mut sizes = ColumnReader::open(scratch, columns::EQUAL_COMPONENT_SIZE)?;
        while sizes.remaining() > 0 {
            shape.largest = shape.largest.max(sizes.next()? as usize);
        }
        Ok(shape)
    }
}
