//! Writes arrays of node numbers as columns.

use heaplake_kit::{ColumnWriter, ReadAt, Scratch, StageError};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::Column;

/// Writes an array of node numbers as a column of nodes.
pub(crate) fn write(mut array: impl ReadAt<u32>, column: Column<NodeId>, scratch: &Scratch) -> Result<(), StageError> {
    let mut writer = ColumnWriter::create(scratch, column)?;
    for node in 0..array.count() {
        writer.push(NodeId(array.get(node)?))?;
    }
    writer.finish().map(drop)
}
