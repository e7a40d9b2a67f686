//! Reads an object from its beginning to its end: several parts are on their way while one is used.
//!
//! A single connection to a store is slow, so parts are asked for beside each other; how many and how large they are is what
//! memory allows. A part that fails is fetched again by the store; here its error ends the reading.

use super::store::{Failure, Fetch, Object, store};
use crate::budget::{Budget, Reservation};
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

/// Bytes of a part.
const PART: u64 = 4 << 20;
/// Bytes of a part where memory is short, and of the first one: a beginning may be all that is wanted.
const SMALL: u64 = 256 << 10;
/// Most parts on their way.
const MOST: u64 = 8;
/// Of what is free, this part is taken at most.
const SHARE: u64 = 8;

/// An object that is read to its end.
pub struct Ahead {
    object: Object,
    /// Where the next byte is.
    at: u64,
    /// Where the part at hand begins.
    start: u64,
    part: Bytes,
    waiting: VecDeque<Fetch>,
    /// Where the next part begins that is not asked for.
    next: u64,
    size: u64,
    most: usize,
    _held: Option<Arc<Reservation>>,
}

impl Ahead {
    /// Of an object, two small parts ahead.
    #[must_use]
    pub fn new(object: Object) -> Self {
        let (waiting, part) = (VecDeque::new(), Bytes::new());
        Self { object, at: 0, start: 0, part, waiting, next: 0, size: SMALL, most: 2, _held: None }
    }

    /// As far ahead as the budget has room for.
    #[must_use]
    pub fn within(self, budget: &Budget) -> Self {
        let room = (budget.free() / SHARE).min(MOST * PART);
        let size = PART.min(room / 4);
        if size < SMALL {
            return self;
        }
        let most = room / size;
        match budget.reserve("reading ahead", size * most) {
            // One part is in use.
            Ok(held) => {
                Self { size, most: (most as usize).saturating_sub(1).max(1), _held: Some(Arc::new(held)), ..self }
            }
            Err(_) => self,
        }
    }

    /// What is read.
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Goes back to the beginning.
    pub fn rewind(&mut self) {
        self.at = 0;
        if self.start > 0 {
            self.waiting.clear();
            (self.part, self.start, self.next) = (Bytes::new(), 0, 0);
        }
    }

    /// Asks for parts, as many as may be on their way.
    fn ask(&mut self) -> io::Result<()> {
        while self.waiting.len() < self.most && self.next < self.object.bytes {
            let size = if self.next == 0 { SMALL } else { self.size };
            let end = self.next.saturating_add(size).min(self.object.bytes);
            self.waiting.push_back(store()?.fetch(&self.object, self.next..end));
            self.next = end;
            // Who only looks at the beginning needs no more.
            if self.start == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Waits for bytes on their way.
///
/// # Errors
/// Those of the store.
pub fn wait(fetch: &Fetch) -> io::Result<Bytes> {
    fetch.recv().unwrap_or_else(|_| Err(Failure::of(io::ErrorKind::Other, "the connection ended")))
}

impl Read for Ahead {
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
