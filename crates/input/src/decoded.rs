//! A compressed file, decompressed by the thread that uses its content and, ahead of that, by tasks of the pool.
//!
//! The decoder moves between them: whoever needs the next block and finds the decoder idle uses it. A task that was queued and has
//! not started holds nothing, so the consumer never waits for a thread of the pool.

use crate::content::Content;
use crate::expansion::Expansion;
use crate::stored::{Identity, fill};
use heaplake_kit::{Context, StageError, threads};
use std::collections::VecDeque;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Blocks in flight between reader and consumer.
pub(crate) const AHEAD: usize = 8;

/// Interval of cancellation checks while waiting for a block: a pipe may stay silent.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

/// What comes of a reader.
pub(crate) enum Message {
    /// The next block.
    Block(Vec<u8>),
    /// The end, and what the input was.
    End(Identity),
    /// An error of the reader or the decoder.
    Failed(io::Error),
    /// The system gave no thread.
    NoThread(io::Error),
}

/// Opens the content, when the first block is needed.
pub(crate) type Open = Box<dyn FnOnce() -> io::Result<Content> + Send>;

/// The consumer's end.
pub(crate) struct Decoded {
    shared: Arc<Shared>,
    /// Whether tasks decompress ahead.
    is_ahead: bool,
}

struct Shared {
    state: Mutex<State>,
    /// A block is ready, the end is known, or the decoder is idle.
    changed: Condvar,
}

struct State {
    /// None while a thread uses it, and after the end.
    decoder: Option<Decoder>,
    ready: VecDeque<Vec<u8>>,
    used: Vec<Vec<u8>>,
    end: Option<Message>,
    /// Whether the end was reached, or handed out.
    is_over: bool,
    is_queued: bool,
}

/// Decompresses block by block.
pub(crate) struct Decoder {
    open: Option<Open>,
    content: Option<Content>,
    expansion: Expansion,
    block: usize,
}

impl Decoder {
    /// Decompresses blocks of `block` bytes.
    pub(crate) fn new(open: Open, expansion: Expansion, block: usize) -> Self {
        Self { open: Some(open), content: None, expansion, block }
    }

    /// The next block, or the end.
    pub(crate) fn next(&mut self, buffer: Vec<u8>) -> Message {
        self.try_next(buffer).unwrap_or_else(Message::Failed)
    }

    fn try_next(&mut self, mut buffer: Vec<u8>) -> io::Result<Message> {
        if let Some(open) = self.open.take() {
            self.content = Some(open()?);
        }
        let Some(content) = &mut self.content else { return Err(io::Error::other("the input is gone")) };
        buffer.resize(self.block, 0);
        let (filled, end) = fill(content, &mut buffer);
        buffer.truncate(filled);
        if filled > 0 {
            if content.is_compressed() {
                self.expansion.check(&buffer)?;
            }
            // An error comes again after what precedes it.
            if let Err(error) = end {
                self.content = None;
                self.open = Some(Box::new(|| Err(error)));
            }
            return Ok(Message::Block(buffer));
        }
        end?;
        self.content
            .take()
            .map_or_else(|| Err(io::Error::other("the input is gone")), Content::finish)
            .map(Message::End)
    }
}

impl Decoded {
    /// With a decoder; tasks decompress ahead if `is_ahead`.
    pub(crate) fn new(decoder: Decoder, is_ahead: bool) -> Self {
        let (ready, used) = (VecDeque::new(), Vec::new());
        let state = State { decoder: Some(decoder), ready, used, end: None, is_over: false, is_queued: false };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }), is_ahead }
    }

    /// The next block, or the end.
    pub(crate) fn next(&self, context: &Context<'_>) -> Result<Message, StageError> {
        loop {
            let mut state = self.shared.state();
            if let Some(block) = state.ready.pop_front() {
                self.hurry(state);
                return Ok(Message::Block(block));
            }
            if let Some(end) = state.end.take() {
                state.is_over = true;
                return Ok(end);
            }
            if state.is_over {
                return Ok(Message::Failed(io::Error::other("the input has ended")));
            }
            let Some(mut decoder) = state.decoder.take() else {
                // A task uses it.
                drop(self.shared.changed.wait_timeout(state, PATIENCE));
                context.check()?;
                continue;
            };
            let buffer = state.used.pop().unwrap_or_default();
            drop(state);
            let message = decoder.next(buffer);
            let mut state = self.shared.state();
            if let Message::Block(_) = message {
                state.decoder = Some(decoder);
                self.hurry(state);
            } else {
                state.is_over = true;
            }
            return Ok(message);
        }
    }

    /// Takes a block back that is used up.
    pub(crate) fn recycle(&self, block: Vec<u8>) {
        let mut state = self.shared.state();
        if state.used.len() < AHEAD {
            state.used.push(block);
        }
    }

    /// Queues a task that decompresses ahead, if none is and the decoder is idle.
    fn hurry(&self, mut state: MutexGuard<'_, State>) {
        if !self.is_ahead || state.is_queued || state.decoder.is_none() || state.ready.len() > AHEAD / 2 {
            return;
        }
        state.is_queued = true;
        drop(state);
        let shared = Arc::clone(&self.shared);
        if !threads::detach(move || shared.run_ahead()) {
            self.shared.state().is_queued = false;
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decompresses until enough blocks are ready, in a task. A consumer that was dropped leaves the decoder to this one, which ends when
    /// as many blocks as that are ready.
    fn run_ahead(&self) {
        let mut state = self.state();
        while state.ready.len() < AHEAD
            && let Some(mut decoder) = state.decoder.take()
        {
            let buffer = state.used.pop().unwrap_or_default();
            drop(state);
            let message = panic::catch_unwind(AssertUnwindSafe(|| decoder.next(buffer)));
            state = self.state();
            match message {
                Ok(Message::Block(block)) => {
                    state.ready.push_back(block);
                    state.decoder = Some(decoder);
                }
                Ok(end) => state.end = Some(end),
                Err(_) => state.end = Some(Message::Failed(io::Error::other("the thread that decompresses stopped"))),
            }
            self.changed.notify_one();
        }
        state.is_queued = false;
    }
}
