//! A compressed file, decoded by its consumer and, as readahead, by tasks of the thread pool.
//!
//! Consumer and task pass the decoder back and forth. A queued task does not own it until it starts, so the consumer
//! never waits for a free thread of the pool.

use crate::content::Content;
use crate::expansion::Expansion;
use crate::stored::{Identity, fill};
use heaplake_kit::threads::locked;
use heaplake_kit::{Context, StageError, threads};
use std::collections::VecDeque;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Blocks in flight between reader and consumer.
pub(crate) const AHEAD: usize = 8;

/// Interval of cancellation checks while waiting for a block: a pipe may stay silent.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

/// Result of a read.
pub(crate) enum Message {
    /// The next block.
    Block(Vec<u8>),
    /// The end, with the identity of the input, if it is hashed.
    End(Option<Identity>),
    /// An error of the reader or the decoder.
    Failed(io::Error),
    /// The system gave no thread.
    NoThread(io::Error),
}

/// Opens the content; called for the first block.
pub(crate) type Open = Box<dyn FnOnce() -> io::Result<Content> + Send>;

/// Consumer side.
pub(crate) struct Decoded {
    shared: Arc<Shared>,
    /// Enables readahead.
    is_ahead: bool,
}

struct Shared {
    state: Mutex<State>,
    /// Signals a ready block, the end, or an idle decoder.
    changed: Condvar,
}

struct State {
    /// `None` while in use, and after the end.
    decoder: Option<Decoder>,
    ready: VecDeque<Vec<u8>>,
    used: Vec<Vec<u8>>,
    end: Option<Message>,
    /// True once the end was returned.
    is_over: bool,
    is_queued: bool,
}

/// Decoder of one file.
pub(crate) struct Decoder {
    open: Option<Open>,
    content: Option<Content>,
    expansion: Expansion,
    block: usize,
}

impl Decoder {
    /// Creates a decoder with blocks of `block` bytes.
    pub(crate) fn new(open: Open, expansion: Expansion, block: usize) -> Self {
        Self { open: Some(open), content: None, expansion, block }
    }

    /// Returns the next block, or the end.
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
            // The content before an error is returned first.
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
    /// Wraps a decoder; `is_ahead` enables readahead.
    pub(crate) fn new(decoder: Decoder, is_ahead: bool) -> Self {
        let (ready, used) = (VecDeque::new(), Vec::new());
        let state = State { decoder: Some(decoder), ready, used, end: None, is_over: false, is_queued: false };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }), is_ahead }
    }

    /// Returns the next block, or the end.
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
                // A task is decoding.
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

    /// Takes back a used block.
    pub(crate) fn recycle(&self, block: Vec<u8>) {
        let mut state = self.shared.state();
        if state.used.len() < AHEAD {
            state.used.push(block);
        }
    }

    /// Queues a readahead task, unless one is queued or enough blocks are ready.
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
        locked(&self.state)
    }

    /// Body of the readahead task: decodes until [`AHEAD`] blocks are ready, also if the consumer is gone.
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
