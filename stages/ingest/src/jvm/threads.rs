//! What the table of threads needs.

use super::roots::Roots;
use heaplake_kit::{ColumnWriter, Scratch, StageError};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column};

/// The string that is the name of each thread; [`NodeId::NONE`] where it has none.
pub const THREAD_STRING: Column<NodeId> = Column::new("jvm.thread.string");

/// Writes the threads and their stacks. The strings that are their names are in the order of the threads.
///
/// # Errors
/// [`StageError::Io`].
pub fn write(roots: &Roots, names: &[NodeId], scratch: &Scratch) -> Result<(), StageError> {
    let mut node = ColumnWriter::create(scratch, columns::THREAD_NODE)?;
    let mut locals = ColumnWriter::create(scratch, columns::THREAD_LOCALS)?;
    let mut frame_count = ColumnWriter::create(scratch, columns::THREAD_FRAME_COUNT)?;
    let mut frames = ColumnWriter::create(scratch, columns::THREAD_FRAME)?;
    for thread in roots.threads.iter() {
        let first = roots.locals.partition_point(|local| local.thread < thread.node);
        let end = roots.locals.partition_point(|local| local.thread <= thread.node);
        node.push(thread.node)?;
        locals.push((end - first) as u64)?;
        let before = frames.len();
        roots.stacks.texts(thread.trace).try_for_each(|text| frames.push(text))?;
        frame_count.push((frames.len() - before) as u32)?;
    }
    let mut strings = ColumnWriter::create(scratch, THREAD_STRING)?;
    strings.extend(names)?;
    node.finish()?;
    locals.finish()?;
    frame_count.finish()?;
    frames.finish()?;
    strings.finish().map(drop)
}
