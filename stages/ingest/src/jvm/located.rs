//! The content of a dump in a file that can be read at any place.

use super::spool::{Spooled, masked, spool};
use crate::masking::Masking;
use heaplake_input::source::{self, Identity, Input, Opened, Source};
use heaplake_kit::storage::{self, Stored};
use heaplake_kit::{Job, StageError};
use heaplake_redact::Summary;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A content in a plain file.
pub(crate) struct Located {
    /// Reads it.
    pub source: Source,
    /// Its file: the input or a copy.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Identity of the input, if already known.
    pub identity: Option<Identity>,
    /// The error at which a damaged input ends.
    pub damage: Option<StageError>,
    /// Bytes of the copy, if it is one.
    pub spooled: u64,
    /// Remarks about it, from masking.
    pub remarks: Vec<String>,
    /// Whether a tool had overwritten the texts before they were masked.
    pub is_sanitized: bool,
}

impl Located {
    /// Finds the content of an input, or copies it to the scratch folder if it is compressed, a stream, or to be masked.
    ///
    /// # Errors
    /// [`StageError::Input`] for a damaged input that is masked; otherwise that is [`Self::damage`].
    pub(crate) fn of(opened: Opened, masking: Option<&Masking>, job: &Job<'_>) -> Result<Self, StageError> {
        let Job { scratch, context, .. } = *job;
        if let Some(masking) = masking {
            let name = opened.input.name();
            let (spooled, Summary { remarks, is_uniform, .. }) = masked(opened, masking, scratch, context)?;
            return Ok(Self { remarks, is_sanitized: is_uniform, ..Self::spooled(spooled, &name)? });
        }
        let Opened { input, mut source } = opened;
        if let Input::File(path) = &input
            && let Some(bytes) = plain(path, source.peek(context)?)
        {
            let path = storage::canonical(path);
            return Ok(Self::plain(source, path, bytes));
        }
        let content = Self::spooled(spool(source, scratch, context)?, &input.name())?;
        let identity = match (&content.damage, &input) {
            (None, _) => content.identity,
            (Some(_), Input::File(_)) => Some(source::identify(&input, context.cancel)?),
            (Some(_), Input::Stdin) => None,
        };
        Ok(Self { identity, ..content })
    }

    /// A content in the scratch folder.
    fn spooled(Spooled { path, bytes, identity, damage }: Spooled, name: &str) -> Result<Self, StageError> {
        let (source, identity) = (Source::raw(&path, name, false)?, Some(identity));
        Ok(Self { identity, damage, spooled: bytes, ..Self::plain(source, path, bytes) })
    }

    fn plain(source: Source, path: PathBuf, bytes: u64) -> Self {
        let (identity, damage, remarks) = (None, None, Vec::new());
        Self { source, path, bytes, identity, damage, spooled: 0, remarks, is_sanitized: false }
    }
}

/// Returns the length of an uncompressed file; `None` for compressed ones.
fn plain(path: &Path, beginning: &[u8]) -> Option<u64> {
    let file = Stored::open(path).ok()?;
    let bytes = file.length().ok()?;
    let mut head = vec![0; beginning.len().min(16)];
    let read = { file }.read_exact(&mut head);
    (read.is_ok() && beginning.starts_with(&head)).then_some(bytes)
}
