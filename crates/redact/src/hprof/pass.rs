//! One pass over a dump.

use super::walk::{HINT, Visitor, Walk};
use crate::content::Content;
use heaplake_input::bytes::Bytes;
use heaplake_kit::{Context, StageError};

/// Reads a dump of `bytes` bytes once; returns the bytes of its ids.
///
/// # Errors
/// [`StageError::Input`] if it is damaged.
pub fn pass(
    name: &'static str,
    content: &mut Content,
    bytes: u64,
    visitor: &mut impl Visitor,
    context: &Context<'_>,
) -> Result<usize, StageError> {
    context.progress.begin(name, bytes);
    let mut cursor = Bytes::new(content.source(context)?, context).with_hint(HINT);
    let mut walk = Walk::begin(&mut cursor, bytes, visitor)?;
    let id = walk.id_bytes();
    walk.all(visitor)?;
    content.same(cursor.identity())?;
    context.progress.end();
    Ok(id)
}
