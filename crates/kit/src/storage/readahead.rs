//! Sequential reads of an object with readahead.
//!
//! A single connection to a store is slow, so parts are fetched in parallel; memory bounds their number and size. The
//! store retries failed parts; an error that arrives here ends the read.

use super::store::{Failure, Fetch, Object, store};
use crate::budget::{Budget, Reservation};
use crate::stop;
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::mpsc::RecvTimeoutError;

/// Maximum bytes per part.
const PART: u64 = 4 << 20;
/// Bytes per part, and parts of readahead, without a budget.
const PLAIN: (u64, usize) = (1 << 20, 3);
/// Minimum bytes per part, also of the first: the reader may want only the beginning.
const SMALL: u64 = 256 << 10;
/// Maximum parts in flight.
const MOST: u64 = 8;
/// Readahead takes at most 1/16 of the free budget.
const SHARE: u64 = 16;

/// An object being read sequentially.
pub struct Readahead {
    object: Object,
    /// Position of the next byte.
    at: u64,
    /// Position of the current part.
    start: u64,
    part: Bytes,
    waiting: VecDeque<Fetch>,
    /// Position of the next part to fetch.
    next: u64,
    size: u64,
    most: usize,
    _held: Option<Reservation>,
}

impl Readahead {
    /// Opens an object with a little readahead.
    pub fn new(object: Object) -> Self {
        let (waiting, part) = (VecDeque::new(), Bytes::new());
        Self { object, at: 0, start: 0, part, waiting, next: 0, size: PLAIN.0, most: PLAIN.1, _held: None }
    }

    /// Sizes the readahead by the budget.
    #[must_use]
    pub fn within(self, budget: &Budget) -> Self {
        let room = (budget.free() / SHARE).min(MOST * PART);
        let size = PART.min(room / 4);
        if size < SMALL {
            return Self { size: SMALL, most: 1, ..self };
        }
        let most = room / size;
        match budget.reserve("reading ahead", size * most) {
            // One part is in use.
            Ok(held) => Self { size, most: (most as usize).saturating_sub(1).max(1), _held: Some(held), ..self },
            Err(_) => Self { size: SMALL, most: 1, ..self },
        }
    }

    /// The object.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Returns to the beginning.
    pub fn rewind(&mut self) {
        self.at = 0;
        if self.start > 0 {
            self.waiting.clear();
            (self.part, self.start, self.next) = (Bytes::new(), 0, 0);
        }
    }

    /// Fetches further parts. Bytes in flight are at most twice those used, for readers that want only the beginning.
    fn ask(&mut self) -> io::Result<()> {
        let used = self.start;
        let size = (used / 2).clamp(SMALL, self.size);
        while self.waiting.len() < self.most && self.next < self.object.bytes {
            if !self.waiting.is_empty() && self.next + size > 3 * used {
                break;
            }
            let end = (self.next + size).min(self.object.bytes);
            self.waiting.push_back(store()?.fetch(&self.object, self.next..end));
            self.next = end;
        }
        Ok(())
    }
}

/// Waits for a fetch; the error is that of the store, or of [`stop`] after cancellation.
pub fn wait(fetch: &Fetch) -> io::Result<Bytes> {
    let begun = stop::Wait::begin();
    loop {
        match fetch.recv_timeout(stop::PAUSE) {
            Ok(bytes) => return bytes,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::of(io::ErrorKind::Other, "the connection ended"));
            }
            Err(RecvTimeoutError::Timeout) if begun.is_over() => return Err(stop::error()),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

impl Read for Readahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.object.bytes || buffer.is_empty() {
            return Ok(0);
        }
        if self.at >= self.start + self.part.len() as u64 {
            self.start += self.part.len() as u64;
            self.ask()?;
            self.part = match self.waiting.pop_front() {
                Some(fetch) => wait(&fetch)?,
                None => return Ok(0),
            };
            if self.part.is_empty() {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the object ends too early"));
            }
            if self.start > 0 {
                self.ask()?;
            }
        }
        let from = usize::try_from(self.at - self.start).unwrap_or(0);
        let count = buffer.len().min(self.part.len() - from);
        buffer[..count].copy_from_slice(&self.part[from..from + count]);
        self.at += count as u64;
        Ok(count)
    }
}
