//! Copies of the content in the scratch folder: of an input that cannot be read twice, decompressed; of any input with
//! masked texts.

use super::dump::CONTENT;
use crate::masking::Masking;
use heaplake_input::source::{self, Identity, Input, Opened, Source};
use heaplake_kit::{ColumnWriter, Context, Scratch, StageError};
use heaplake_redact::{Content, Sink, Summary};
use std::io::{self, Write};
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

/// Writes the content with masked texts and numbers; returns the summary, too. A stream is copied, as it is, to an
/// unnamed file meanwhile, since masks need several passes.
///
/// # Errors
/// [`StageError::Input`] for a damaged dump.
pub(crate) fn masked(
    Opened { input, source }: Opened,
    masking: &Masking,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(Spooled, Summary), StageError> {
    let mut content = if Content::is_stream(&input) {
        Content::of_stream(source, scratch.folder(), context)?
    } else {
        let allow_bomb = source.allows_bombs();
        drop(source);
        Content::open(input.clone(), scratch.folder(), allow_bomb, context)?
    };
    let path = scratch.path(CONTENT);
    let mut out = Out(ColumnWriter::create_file(scratch, CONTENT)?);
    let summary = heaplake_redact::redact(&mut content, &masking.options, &mut Sink::new(&mut out, &path), context)?;
    let bytes = out.0.finish()?;
    let identity = match (content.identity(), &input) {
        (Some(identity), _) => identity.clone(),
        (None, Input::File(_)) => source::identify(&input, context.cancel)?,
        (None, Input::Stdin) => Identity::default(),
    };
    Ok((Spooled { path, bytes, identity, damage: None }, summary))
}

/// A column as an output.
struct Out(ColumnWriter<u8>);

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.extend(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(StageError::Io { source, .. }) => Err(source),
            Err(other) => Err(io::Error::other(other)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
