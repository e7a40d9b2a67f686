//! Decompresses an input that cannot be read twice as it is into the scratch folder.

use super::dump::CONTENT;
use heaplake_input::source::{Identity, Source};
use heaplake_kit::fs::File;
use heaplake_kit::{Context, Scratch, StageError};
use std::io::Write;
use std::path::PathBuf;

/// A content in the scratch folder.
pub struct Spooled {
    /// Where it lies.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// What the input was, as far as it could be read.
    pub identity: Identity,
    /// Why there is no more, where the input is damaged.
    pub damage: Option<StageError>,
}

/// Writes the content of a source to the scratch folder. Damaged compression ends it.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn spool(mut source: Source, scratch: &Scratch, context: &Context<'_>) -> Result<Spooled, StageError> {
    let path = scratch.path(CONTENT);
    let mut file = File::create(&path).map_err(|error| StageError::io(&path, "create", error))?;
    let (mut block, mut bytes) = (Vec::new(), 0);
    let damage = loop {
        match source.next_block(&mut block, context) {
            Ok(true) => {}
            Ok(false) => break None,
            Err(damage @ StageError::Input(_)) => break Some(damage),
            Err(other) => return Err(other),
        }
        file.write_all(&block).map_err(|error| StageError::io(&path, "write", error))?;
        bytes += block.len() as u64;
        context.step(block.len() as u64)?;
    };
    Ok(Spooled { path, bytes, identity: source.identity().cloned().unwrap_or_default(), damage })
}
