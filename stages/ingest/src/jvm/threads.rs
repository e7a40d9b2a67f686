//! Columns of the table of threads.

use super::roots::Roots;
use crate::names::NameWriter;
use heaplake_kit::{ColumnWriter, Context, Scratch, StageError, create_all, finish_all};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column};

/// The string that names each thread; [`NodeId::NONE`] for none.
pub(crate) const THREAD_STRING: Column<NodeId> = Column::new("jvm.thread.string");

/// Frames rendered of a stack that an earlier thread also has. Threads may share a stack: a dump of n bytes may have n
/// / 20 threads that share one of n / 9 frames.
const SHARED: usize = 64;

/// Last frame of a shortened stack.
const CUT: &[u8] = b"(more frames, which another thread with this stack shows)";

/// Writes the threads and their stacks. `thread_names` are in the order of the threads.
pub(crate) fn write(
    roots: &Roots,
    thread_names: &[NodeId],
    names: &mut NameWriter,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let (mut node, mut locals, mut frame_count, mut frames) = create_all(
        scratch,
        (columns::THREAD_NODE, columns::THREAD_LOCALS, columns::THREAD_FRAME_COUNT, columns::THREAD_FRAME),
    )?;
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
                context.check_every(4096, number)?;
                frames.push(roots.stacks.text(id))?;
            }
            if ids.len() > most {
                frames.push(names.intern(CUT)?)?;
            }
        }
        frame_count.push((frames.len() - before) as u32)?;
    }
    ColumnWriter::write_each(scratch, THREAD_STRING, thread_names.iter().copied())?;
    finish_all((node, locals, frame_count, frames))
}
