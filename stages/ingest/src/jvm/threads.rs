//! What the table of threads needs.

use super::roots::Roots;
use crate::names::Names;
use heaplake_kit::{ColumnWriter, Context, Scratch, StageError};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column};

/// The string that is the name of each thread; [`NodeId::NONE`] where it has none.
pub const THREAD_STRING: Column<NodeId> = Column::new("jvm.thread.string");

/// Frames of a stack that an earlier thread has too: threads may share a stack, and a dump of n bytes may have n / 20
/// threads that share one of n / 9 frames.
const SHARED: usize = 64;

/// The last frame where the others are left out.
const CUT: &[u8] = b"(more frames, which another thread with this stack shows)";

/// Writes the threads and their stacks. The strings that are their names are in the order of the threads.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn write(
    roots: &Roots,
    thread_names: &[NodeId],
    names: &mut Names,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let mut node = ColumnWriter::create(scratch, columns::THREAD_NODE)?;
    let mut locals = ColumnWriter::create(scratch, columns::THREAD_LOCALS)?;
    let mut frame_count = ColumnWriter::create(scratch, columns::THREAD_FRAME_COUNT)?;
    let mut frames = ColumnWriter::create(scratch, columns::THREAD_FRAME)?;
    let mut shown = context.budget.filled("stacks of threads", roots.stacks.count(), false)?;
    for thread in roots.threads.iter() {
        context.check()?;
        let first = roots.locals.partition_point(|local| local.thread < thread.node);
        let end = roots.locals.partition_point(|local| local.thread <= thread.node);
        node.push(thread.node)?;
        locals.push((end - first) as u64)?;
        let before = frames.len();
        if let Some(stack) = roots.stacks.position(thread.trace) {
            let most = if std::mem::replace(&mut shown[stack], true) { SHARED } else { usize::MAX };
            let ids = roots.stacks.ids(stack);
            for (number, &id) in ids.iter().take(most).enumerate() {
                if number % 4096 == 0 {
                    context.check()?;
                }
                frames.push(roots.stacks.text(id))?;
            }
            if ids.len() > most {
                frames.push(names.intern(CUT)?)?;
            }
        }
        frame_count.push((frames.len() - before) as u32)?;
    }
    let mut strings = ColumnWriter::create(scratch, THREAD_STRING)?;
    strings.extend(thread_names)?;
    node.finish()?;
    locals.finish()?;
    frame_count.finish()?;
    frames.finish()?;
    strings.finish().map(drop)
}
