//! V8's heap snapshots (`.heapsnapshot`).
//!
//! * Masked: texts of strings and regular expressions, texts of captured numbers, strings without a known use; names
//!   that look like data ([`crate::shapes`]), and the data in labels, elements and URLs.
//! * Kept: all numbers (sizes, graph, ids, locations, samples), names of classes, properties, functions and scripts.
//! * Passes: the header, then the whole file twice.
//! * Resident memory: 3.5 bits per string, 48 bytes per string that is a name and a text, and fixed buffers.
//!
//! A reader of snapshots masks strings on its own: it notes their [`Uses`] and puts [`Strings`] before its table.

mod gather;
mod header;
mod json;
mod rewrite;
mod roles;
mod sections;
mod strings;
mod uses;

pub use gather::header as read_header;
pub use header::{HINT, Header};
pub use roles::{Role, Roles};
pub use sections::each as sections;
pub use strings::{Keep, Strings};
pub use uses::{Use, Uses};

use crate::content::Content;
use crate::options::Options;
use crate::sink::Sink;
use crate::summary::Summary;
use heaplake_input::bytes::Bytes;
use heaplake_kit::{Context, StageError};

/// Redacts a snapshot.
///
/// # Errors
/// [`StageError::Input`] if it is damaged.
pub(crate) fn redact(
    content: &mut Content,
    options: &Options,
    sink: &mut Sink<'_>,
    context: &Context<'_>,
) -> Result<Summary, StageError> {
    let header = gather::header(&mut scanner(content, context)?)?;
    context.progress.begin("read", content.stored_bytes());
    let mut first = scanner(content, context)?;
    let uses = gather::all(&header, &mut first)?;
    first.drain()?;
    content.same(first.identity())?;
    context.progress.begin("write", content.stored_bytes());
    let mut summary = Summary { input: content.name().to_owned(), format: "heapsnapshot", ..Summary::default() };
    let mut second = scanner(content, context)?;
    let remark = rewrite::all((&header, &uses), options, &mut second, sink, &mut summary)?;
    second.drain()?;
    content.same(second.identity())?;
    context.progress.end();
    summary.remarks.extend(remark);
    if uses.split > 0 {
        summary.remarks.push(format!("{} texts that are names, too, have entries of their own", uses.split));
    }
    (summary.content_bytes, summary.output_bytes) = (second.offset(), sink.bytes());
    Ok(summary)
}

fn scanner<'a>(content: &Content, context: &'a Context<'a>) -> Result<Bytes<'a>, StageError> {
    Ok(Bytes::new(content.source(context)?, context).with_hint(header::HINT))
}
