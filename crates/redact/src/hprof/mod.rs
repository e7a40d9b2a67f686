//! Heap dumps of Java (`.hprof`).
//!
//! * Masked: contents of primitive arrays, primitive fields of instances and classes with the values of boxes, and
//!   texts of the dump other than names of classes, fields, methods and source files.
//! * Kept: all lengths, ids and references; names; numbers that are structure ([`classes::STRUCTURE`]).
//! * The output has the length of the input's content, and each record its offset.
//! * Passes: two, and two more to keep the names of threads; one before to measure a compressed input.
//! * Resident memory: about 64 bytes per class and field, twice that per field for plans; 8 per use of a name; fixed
//!   buffers.

mod classes;
mod contents;
mod gather;
mod marks;
mod pass;
mod threads;
mod walk;
mod write;

use crate::content::Content;
use crate::options::{Choice, Options};
use crate::sink::Sink;
use crate::summary::Summary;
use gather::Gather;
use heaplake_kit::{Context, StageError};
pub use pass::pass;
use rustc_hash::FxHashSet;
pub use walk::{BYTE, CHAR, Visitor};
use write::Write;

/// Redacts a dump.
///
/// # Errors
/// [`StageError::Input`] if it is damaged.
pub(crate) fn redact(
    content: &mut Content,
    options: &Options,
    sink: &mut Sink<'_>,
    context: &Context<'_>,
) -> Result<Summary, StageError> {
    let bytes = content.bytes(context)?;
    let mut summary = Summary { input: content.name().to_owned(), format: "hprof", ..Summary::default() };
    let mut gather = Gather::new(&context.budget)?;
    gather.classes.id = pass("read", content, bytes, &mut gather, context)?;
    gather.classes.settle();
    let kept = match options.thread_names {
        Choice::Mask => FxHashSet::default(),
        Choice::Keep => threads::names(content, bytes, &gather, context)?,
    };
    let mut write = Write::new(&gather.classes, options, &kept, sink);
    pass("write", content, bytes, &mut write, context)?;
    write.finish(&mut summary)?;
    (summary.remarks, summary.is_uniform) = (gather.marks.remarks(), gather.marks.is_uniform());
    if options.thread_names == Choice::Keep {
        summary.remarks.push(format!("{} names of threads stay", kept.len()));
    }
    (summary.content_bytes, summary.output_bytes) = (bytes, sink.bytes());
    Ok(summary)
}
