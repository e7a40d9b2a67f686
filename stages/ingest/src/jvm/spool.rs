//! Decompresses an input that cannot be read twice into the scratch folder.

use super::dump::CONTENT;
use heaplake_input::source::{Identity, Source};
use heaplake_kit::{ColumnWriter, Context, Scratch, StageError};
use std::path::PathBuf;

/// A content in the scratch folder.
pub(crate) struct Spooled {
    /// Its file.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Identity of the input, as far as it could be read.
    pub identity: Identity,
    /// The error at which a damaged input ends.
    pub damage: Option<StageError>,
}

/// Writes the content of a source to the scratch folder; ends at damaged compression.
pub(crate) fn spool(mut source: Source, scratch: &Scratch, context: &Context<'_>) -> Result<Spooled, StageError> {
    let mut writer = ColumnWriter::create_file(scratch, CONTENT)?;
    let mut block = Vec::new();
    let damage = loop {
        match source.next_block(&mut block, context) {
            Ok(true) => {}
            Ok(false) => break None,
            Err(damage @ StageError::Input(_)) => break Some(damage),
            Err(other) => return Err(other),
        }
        writer.extend(&block)?;
        context.step(block.len() as u64)?;
    };
    let (path, bytes) = (scratch.path(CONTENT), writer.finish()?);
    Ok(Spooled { path, bytes, identity: source.identity().cloned().unwrap_or_default(), damage })
}
