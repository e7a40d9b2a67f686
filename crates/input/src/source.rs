//! The input's bytes, block by block.
//!
//! An uncompressed file is read [directly](crate::direct); a compressed file is [decoded](crate::decoded) by tasks of the
//! thread pool. A pipe or an object of a store may block, so a reader thread reads, hashes and decompresses it, and the
//! consumer can be cancelled meanwhile. Each stays at most [`AHEAD`] blocks ahead; used blocks are returned, so memory
//! does not grow with the input. Gzip in [blocks](crate::blocked) is inflated in parallel. Bombs and nested compression
//! are refused ([`expansion`](crate::expansion)).

use crate::blocked::Inflaters;
use crate::content::Content;
use crate::decoded::{AHEAD, Decoded, Decoder, Message, PATIENCE};
use crate::direct::{self, Direct};
use crate::expansion::Expansion;
use crate::stored::{Counted, Hashing, Late};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use heaplake_kit::fs;
use heaplake_kit::storage::{Failure, Stored};
use heaplake_kit::{Budget, Context, InputError, StageError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

pub use crate::stored::{BLOCK, Identity};

/// Minimum bytes from which formats are recognized.
pub const BEGINNING: usize = 64;

/// Maximum useful threads: beyond that, the thread that hashes is the bottleneck.
const MOST_THREADS: usize = 8;

/// Memory for zstd windows without a budget: the default limit of zstd.
const UNASKED: u64 = 200 << 20;

/// Advice of errors in compressed data.
const HINT: &str = "the compressed file is damaged or incomplete: write or copy the snapshot again";

/// Origin of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file, or an object of a store by its URL.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

impl Input {
    /// Name in messages.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
        }
    }

    fn open(&self) -> Result<Reader, StageError> {
        match self {
            Self::File(path) => match Stored::open(path) {
                Ok(file) => Ok(Reader::File(file)),
                // A pipe or a device. Opening it may block until there is a writer: the reader thread waits for that.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    Ok(Reader::Stream(Box::new(Late::new(path))))
                }
                Err(error) if error.kind() == io::ErrorKind::IsADirectory => Err(StageError::io(path, "read", error)),
                Err(error) => Err(StageError::io(path, "open", error)),
            },
            Self::Stdin => Ok(Reader::Stream(Box::new(io::stdin()))),
        }
    }
}

/// Underlying reader of an input.
enum Reader {
    File(Stored),
    /// Standard input, a pipe, a device.
    Stream(Box<dyn Read + Send>),
}

impl Reader {
    fn stream(self) -> Box<dyn Read + Send> {
        match self {
            Self::File(file) => Box::new(file),
            Self::Stream(stream) => stream,
        }
    }
}

/// An input and its unused source.
pub struct Opened {
    /// The input.
    pub input: Input,
    /// Its source.
    pub source: Source,
}

/// Where blocks come from.
enum Feed {
    /// An uncompressed file.
    Direct(Box<Decoder>),
    /// A compressed file.
    Decoded(Decoded),
    /// A reader thread; used blocks are returned to it.
    Thread { blocks: Receiver<Message>, used: Sender<Vec<u8>> },
}

/// State shared with the reader: stored bytes read so far, and whether the expansion limit is lifted.
type Shared = (Arc<AtomicU64>, Arc<AtomicBool>);

/// Content of an input, block by block.
pub struct Source {
    name: String,
    feed: Feed,
    identity: Option<Identity>,
    /// True after the end, and after a decompression failure.
    ended: bool,
    /// Bytes of content returned.
    handed_out: u64,
    /// The first block, after [`Self::peek`].
    first: Vec<u8>,
    /// Stored bytes read so far.
    stored: Arc<AtomicU64>,
    /// True if the expansion limit is lifted.
    lifted: Arc<AtomicBool>,
}

impl Source {
    /// Opens an input and starts its reader.
    pub fn open(input: &Input) -> Result<Self, StageError> {
        Self::open_with(input, 1, &Budget::new(UNASKED))
    }

    /// Opens an input with up to `threads` for parallel decompression, within the budget, which also limits zstd
    /// windows ([`Self::next_block`] fails if one does not fit).
    pub fn open_with(input: &Input, threads: usize, budget: &Budget) -> Result<Self, StageError> {
        let (budget, threads, room) = (budget.clone(), threads.min(MOST_THREADS), budget.clone());
        let pool = move |beginning: &[u8]| Inflaters::plan(threads, beginning, &budget);
        let reader: Box<dyn Read + Send> = match input.open()? {
            // A thread waits for remote parts, so that the consumer can be cancelled.
            Reader::File(Stored::Object(ahead)) => Box::new(ahead.within(&room)),
            Reader::File(mut file) => {
                let is_plain = direct::is_plain(&mut file).map_err(|error| unread(&input.name(), error))?;
                return Ok(match is_plain {
                    true => Self::of_direct(input.name(), file, true),
                    false => Self::of_file(Box::new(file), pool, &room, input.name(), BLOCK, threads > 1),
                });
            }
            Reader::Stream(stream) => stream,
        };
        Ok(Self::start(reader, pool, &room, input.name(), BLOCK))
    }

    /// Opens a file without decompression; `name` is its name in messages. It gets an [`Self::identity`] if `is_hashed`,
    /// or if it is an object of a store.
    pub fn raw(path: &Path, name: &str, is_hashed: bool) -> Result<Self, StageError> {
        match Stored::open(path).map_err(|error| StageError::io(path, "open", error))? {
            Stored::Object(ahead) => {
                Ok(Self::start_as(|reader| Ok(Content::raw(reader, true)), Box::new(ahead), name.to_owned(), BLOCK))
            }
            file => Ok(Self::of_direct(name.to_owned(), file, is_hashed)),
        }
    }

    /// A file that is decompressed without a thread of its own.
    fn of_file(
        reader: Box<dyn Read + Send>,
        pool: impl FnOnce(&[u8]) -> Option<Inflaters> + Send + 'static,
        budget: &Budget,
        name: String,
        block: usize,
        is_ahead: bool,
    ) -> Self {
        let budget = budget.clone();
        let (decoder, shared) = decoder(|reader| Content::new(reader, pool, budget), reader, block);
        Self::new(name, Feed::Decoded(Decoded::new(decoder, is_ahead)), shared)
    }

    fn of_direct(name: String, file: Stored, is_hashed: bool) -> Self {
        let content = move |reader| Ok(Content::raw(reader, is_hashed));
        let (decoder, shared) = decoder(content, Box::new(Direct::new(file)), BLOCK);
        Self::new(name, Feed::Direct(Box::new(decoder)), shared)
    }

    /// Reads from memory, in blocks of `block` bytes, with the name `memory`. For tests.
    pub fn of_bytes(bytes: impl Into<Vec<u8>>, block: usize) -> Self {
        let reader = Box::new(io::Cursor::new(bytes.into()));
        Self::of_file(reader, |_| None, &Budget::new(UNASKED), "memory".to_owned(), block, true)
    }

    fn start(
        reader: Box<dyn Read + Send>,
        pool: impl FnOnce(&[u8]) -> Option<Inflaters> + Send + 'static,
        budget: &Budget,
        name: String,
        block: usize,
    ) -> Self {
        let budget = budget.clone();
        Self::start_as(|reader| Content::new(reader, pool, budget), reader, name, block)
    }

    /// Starts the reader thread with a constructor of the content.
    fn start_as(
        content: impl FnOnce(Box<dyn Read + Send>) -> io::Result<Content> + Send + 'static,
        reader: Box<dyn Read + Send>,
        name: String,
        block: usize,
    ) -> Self {
        let (send, blocks) = bounded(AHEAD);
        let (used, reuse) = bounded(AHEAD + 2);
        let to_tell = send.clone();
        let (mut decoder, shared) = decoder(content, reader, block);
        // A dropped consumer is not an error of the reader: the rest need not be read.
        let read = move || {
            loop {
                let message = decoder.next(reuse.try_recv().unwrap_or_default());
                let is_last = !matches!(message, Message::Block(_));
                if send.send(message).is_err() || is_last {
                    return;
                }
            }
        };
        if let Err(error) = fs::before_thread().and_then(|()| thread::Builder::new().spawn(read).map(drop)) {
            let _ = to_tell.send(Message::NoThread(error));
        }
        Self::new(name, Feed::Thread { blocks, used }, shared)
    }

    fn new(name: String, feed: Feed, (stored, lifted): Shared) -> Self {
        Self { name, feed, identity: None, ended: false, handed_out: 0, first: Vec::new(), stored, lifted }
    }

    /// Name of the input in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Counter of stored bytes read so far.
    pub fn progress(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.stored)
    }

    /// Lifts the expansion limit if `allow`. The reader cannot have met the limit before the first call, given its
    /// bounded readahead.
    #[must_use]
    pub fn allowing_bombs(self, allow: bool) -> Self {
        self.lifted.store(allow, Ordering::Relaxed);
        self
    }

    /// Whether [`Self::allowing_bombs`] lifted the expansion limit.
    pub fn allows_bombs(&self) -> bool {
        self.lifted.load(Ordering::Relaxed)
    }

    /// Changes the name in messages.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Returns the beginning of the content, at least [`BEGINNING`] bytes if available, without consuming it. Call
    /// before the first [`Self::next_block`].
    pub fn peek(&mut self, context: &Context<'_>) -> Result<&[u8], StageError> {
        if self.first.is_empty() {
            let (mut first, mut more) = (Vec::new(), Vec::new());
            self.next_block(&mut first, context)?;
            // Blocks in tests are short.
            while first.len() < BEGINNING && self.next_block(&mut more, context)? {
                first.extend_from_slice(&more);
            }
            self.first = first;
        }
        Ok(&self.first)
    }

    /// Replaces `block` by the next one; false at the end of the content, and after an error in compressed data.
    ///
    /// # Errors
    /// [`StageError::Input`] for corrupt compressed data, [`StageError::Budget`] if a zstd window does not fit.
    pub fn next_block(&mut self, block: &mut Vec<u8>, context: &Context<'_>) -> Result<bool, StageError> {
        if !self.first.is_empty() {
            let first = std::mem::take(&mut self.first);
            self.recycle(std::mem::replace(block, first));
            return Ok(true);
        }
        if self.ended {
            return Ok(false);
        }
        let message = match &mut self.feed {
            Feed::Direct(decoder) => decoder.next(std::mem::take(block)),
            Feed::Decoded(decoded) => decoded.next(context)?,
            Feed::Thread { blocks, .. } => received(blocks, &self.name, context)?,
        };
        match message {
            Message::Block(next) => {
                self.handed_out += next.len() as u64;
                self.recycle(std::mem::replace(block, next));
                Ok(true)
            }
            Message::End(identity) => {
                (self.identity, self.ended) = (identity, true);
                Ok(false)
            }
            Message::Failed(error) => Err(self.failed(error)),
            Message::NoThread(source) => Err(StageError::Thread { source }),
        }
    }

    /// Returns a used block to the reader. Clearing it would cost as much as reading it.
    pub(crate) fn recycle(&self, block: Vec<u8>) {
        match &self.feed {
            Feed::Direct(_) => {}
            Feed::Decoded(decoded) => decoded.recycle(block),
            // The reader allocates a block if none was returned in time.
            Feed::Thread { used, .. } if !block.is_empty() => drop(used.try_send(block)),
            Feed::Thread { .. } => {}
        }
    }

    /// Identity of the input; `None` before its end.
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    fn failed(&mut self, error: io::Error) -> StageError {
        // Errors without an errno come from a decoder, unless from a store.
        if error.raw_os_error().is_some() || Failure::is(&error) {
            return unread(&self.name, error);
        }
        let (name, offset) = (&self.name, self.handed_out);
        let error = match error.downcast::<StageError>() {
            Ok(StageError::Input(refused)) => InputError { file: name.clone(), offset, ..*refused }.into(),
            Ok(error) => return error,
            Err(error) => StageError::input(name, offset, "intact compressed data", error.to_string(), HINT),
        };
        self.ended = true;
        error
    }
}

/// Creates a decoder of a reader with a constructor of the content.
fn decoder(
    content: impl FnOnce(Box<dyn Read + Send>) -> io::Result<Content> + Send + 'static,
    reader: Box<dyn Read + Send>,
    block: usize,
) -> (Decoder, Shared) {
    let shared = Shared::default();
    let reader = Box::new(Counted::new(reader, &shared.0));
    let expansion = Expansion::new(Arc::clone(&shared.0), Arc::clone(&shared.1));
    (Decoder::new(Box::new(|| content(reader)), expansion, block), shared)
}

/// Receives the next message of a reader thread.
fn received(blocks: &Receiver<Message>, name: &str, context: &Context<'_>) -> Result<Message, StageError> {
    loop {
        match blocks.recv_timeout(PATIENCE) {
            Err(RecvTimeoutError::Timeout) => context.check()?,
            message => return message.map_err(|_| unread(name, io::Error::other("the reader thread stopped"))),
        }
    }
}

fn unread(name: &str, error: io::Error) -> StageError {
    StageError::io(Path::new(name), "read", error)
}

/// Reads an input as stored and returns its identity, for comparison with existing runs.
pub fn identify(input: &Input, cancel: &AtomicBool) -> Result<Identity, StageError> {
    let mut reader = Hashing::new(input.open()?.stream(), true);
    let mut block = vec![0; BLOCK];
    loop {
        if cancel.load(Ordering::Relaxed) {
            return Err(StageError::Cancelled);
        }
        match reader.read(&mut block) {
            Ok(0) => return Ok(reader.identity().unwrap_or_default()),
            Ok(_) => {}
            Err(error) => return Err(unread(&input.name(), error)),
        }
    }
}
