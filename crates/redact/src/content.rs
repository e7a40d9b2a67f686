//! The content of an input that is read several times: a file, or a copy of a stream.
//!
//! Standard input and pipes can be read only once, so they are copied, decompressed, to an unnamed file: it vanishes
//! when the process ends, however it ends. A file that changes between two passes is refused.

use heaplake_input::source::{Identity, Input, Source};
use heaplake_kit::fs::File;
use heaplake_kit::storage::{self, Stored};
use heaplake_kit::{Context, StageError};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// An input that can be read again.
pub struct Content {
    input: Input,
    name: String,
    copy: Option<Copy>,
    allow_bomb: bool,
    /// Bytes of the content, once known.
    bytes: Option<u64>,
    /// Identity of the bytes at the end of the first pass.
    identity: Option<Identity>,
    /// Bytes in memory and their block size, in tests.
    memory: Option<(Vec<u8>, usize)>,
}

/// Copy of a stream.
struct Copy {
    file: File,
    bytes: u64,
}

impl Copy {
    /// A path that opens the file anew.
    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_std().as_raw_fd()))
    }
}

impl Content {
    /// Opens an input; copies a stream to an unnamed file in `folder`.
    ///
    /// # Errors
    /// [`StageError::Io`] if the input cannot be read, or the copy cannot be written.
    pub fn open(input: Input, folder: &Path, allow_bomb: bool, context: &Context<'_>) -> Result<Self, StageError> {
        let is_stream = Self::is_stream(&input);
        let name = input.name();
        let mut content = Self { input, name, copy: None, allow_bomb, bytes: None, identity: None, memory: None };
        if is_stream {
            let (copy, identity) = copied(content.source(context)?, folder, context)?;
            (content.copy, content.identity) = (Some(copy), identity);
        }
        Ok(content)
    }

    /// Whether an input can be read only once.
    #[must_use]
    pub fn is_stream(input: &Input) -> bool {
        match input {
            Input::Stdin => true,
            Input::File(path) => {
                !storage::is_url(path) && std::fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir())
            }
        }
    }

    /// Copies the rest of a stream, which can be read only once, to an unnamed file in `folder`.
    ///
    /// # Errors
    /// [`StageError::Io`] if the stream cannot be read, or the copy cannot be written.
    pub fn of_stream(source: Source, folder: &Path, context: &Context<'_>) -> Result<Self, StageError> {
        let (name, input) = (source.name().to_owned(), Input::Stdin);
        let mut content =
            Self { input, name, copy: None, allow_bomb: false, bytes: None, identity: None, memory: None };
        let (copy, identity) = copied(source, folder, context)?;
        (content.copy, content.identity) = (Some(copy), identity);
        Ok(content)
    }

    /// Returns the identity of the stored bytes of the input, once they were read.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// Reads from memory, in blocks of `block` bytes, with the name `memory`. For tests.
    #[must_use]
    pub fn of_bytes(bytes: Vec<u8>, block: usize) -> Self {
        Self {
            input: Input::Stdin,
            name: "memory".to_owned(),
            copy: None,
            allow_bomb: false,
            bytes: None,
            identity: None,
            memory: Some((bytes, block)),
        }
    }

    /// Name of the input in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes that were copied, of a stream.
    #[must_use]
    pub fn copied_bytes(&self) -> Option<u64> {
        self.copy.as_ref().map(|copy| copy.bytes)
    }

    /// Stored bytes of the input; 0 if unknown. For progress.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        match (&self.copy, &self.input) {
            (Some(copy), _) => copy.bytes,
            (None, Input::File(path)) => storage::input(path).map_or(0, |about| about.bytes),
            (None, Input::Stdin) => 0,
        }
    }

    /// Opens the content at its beginning.
    ///
    /// # Errors
    /// [`StageError::Io`] if the input cannot be opened.
    pub fn source(&self, context: &Context<'_>) -> Result<Source, StageError> {
        if let Some((bytes, block)) = &self.memory {
            return Ok(Source::of_bytes(bytes.as_slice(), *block));
        }
        match &self.copy {
            Some(copy) => Source::raw(&copy.path(), &self.name, false),
            None => {
                let source = Source::open_with(&self.input, context.threads, &context.budget)?;
                Ok(source.allowing_bombs(self.allow_bomb))
            }
        }
    }

    /// Returns the bytes of the decompressed content. Cost: one pass over a compressed input, at the first call.
    ///
    /// # Errors
    /// As those of reading the content.
    pub fn bytes(&mut self, context: &Context<'_>) -> Result<u64, StageError> {
        if let Some(bytes) = self.bytes {
            return Ok(bytes);
        }
        let bytes = match (&self.copy, self.plain(context)?) {
            (Some(copy), _) => copy.bytes,
            (None, Some(bytes)) => bytes,
            (None, None) => {
                let (mut source, mut block, mut bytes) = (self.source(context)?, Vec::new(), 0);
                while source.next_block(&mut block, context)? {
                    context.check()?;
                    bytes += block.len() as u64;
                }
                bytes
            }
        };
        self.bytes = Some(bytes);
        Ok(bytes)
    }

    /// Returns the length of an uncompressed file: one whose content begins as it does.
    fn plain(&self, context: &Context<'_>) -> Result<Option<u64>, StageError> {
        let Input::File(path) = &self.input else { return Ok(None) };
        let mut source = self.source(context)?;
        let beginning = source.peek(context)?;
        let Ok(file) = Stored::open(path) else { return Ok(None) };
        let Ok(bytes) = file.length() else { return Ok(None) };
        let mut head = vec![0; beginning.len().min(16)];
        let read = { file }.read_exact(&mut head);
        Ok((read.is_ok() && beginning.starts_with(&head)).then_some(bytes))
    }

    /// Refuses a file that changed since the first pass. Called at the end of each pass.
    ///
    /// # Errors
    /// [`StageError::Refused`] for such a file.
    pub fn same(&mut self, identity: Option<&Identity>) -> Result<(), StageError> {
        match (&self.identity, identity) {
            // Nobody else has the copy.
            _ if self.copy.is_some() => Ok(()),
            (Some(before), Some(now)) if before != now => Err(StageError::changed(&self.name)),
            (None, Some(now)) => {
                self.identity = Some(now.clone());
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Copies the content of a stream; returns its identity, too.
fn copied(mut source: Source, folder: &Path, context: &Context<'_>) -> Result<(Copy, Option<Identity>), StageError> {
    let failed = |error| StageError::io(folder, "write a copy of the input in", error);
    let mut file = File::unnamed(folder).map_err(failed)?;
    let (mut block, mut bytes) = (Vec::new(), 0);
    context.progress.begin("copy", 0);
    while source.next_block(&mut block, context)? {
        file.write_all(&block).map_err(failed)?;
        bytes += block.len() as u64;
        context.step(block.len() as u64)?;
    }
    context.progress.end();
    Ok((Copy { file, bytes }, source.identity().cloned()))
}
