//! A content in pieces of any length: fields of binary formats, and lines.

use crate::source::{Identity, Source};
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Context, InputError, StageError};

/// Advice of most errors.
pub const HINT: &str = "the trace is damaged or incomplete: record or copy it again";

/// Reader of a content in pieces of any length, with offset and progress.
pub struct Bytes<'a> {
    source: Source,
    context: &'a Context<'a>,
    block: Vec<u8>,
    /// Bytes of the block consumed.
    at: usize,
    /// Bytes before the block.
    before: u64,
    /// A line that spans blocks.
    piece: Vec<u8>,
    /// Its memory account, once there is such a line.
    account: Option<MemoryAccount>,
}

impl<'a> Bytes<'a> {
    /// Starts at the beginning of the content.
    pub fn new(source: Source, context: &'a Context<'a>) -> Self {
        Self { source, context, block: Vec::new(), at: 0, before: 0, piece: Vec::new(), account: None }
    }

    /// Bytes consumed so far.
    pub fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Name of the input in messages.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Identity of the input, after its end was reached.
    pub fn identity(&self) -> Option<&Identity> {
        self.source.identity()
    }

    /// Creates an error at an offset.
    pub fn error(&self, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> StageError {
        let (expected, found) = (expected.into(), found.into());
        InputError { file: self.name().to_owned(), offset, expected, found, hint: HINT }.into()
    }

    /// Checks for cancellation, as each new block does; one block may have many slow events.
    #[inline]
    pub fn check(&self) -> Result<(), StageError> {
        self.context.check()
    }

    /// Ensures that a byte is available; false at the end.
    fn refill(&mut self) -> Result<bool, StageError> {
        while self.at == self.block.len() {
            self.before += self.block.len() as u64;
            self.at = 0;
            if !self.source.next_block(&mut self.block, self.context)? {
                self.block.clear();
                return Ok(false);
            }
            self.context.step(self.block.len() as u64)?;
        }
        Ok(true)
    }

    /// Returns the next byte without consuming it; `None` at the end.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, StageError> {
        Ok(if self.refill()? { Some(self.block[self.at]) } else { None })
    }

    /// Returns the next byte; `None` at the end.
    #[inline]
    pub fn byte(&mut self) -> Result<Option<u8>, StageError> {
        let byte = self.peek()?;
        self.at += usize::from(byte.is_some());
        Ok(byte)
    }

    /// Returns the next line without its line end, and true if it had one; `None` at the end of the content.
    ///
    /// # Errors
    /// [`StageError::Input`] for a line of more than `most` bytes.
    pub fn line(&mut self, most: usize) -> Result<Option<(&[u8], bool)>, StageError> {
        if !self.refill()? {
            return Ok(None);
        }
        if let Some(length) = memchr::memchr(b'\n', &self.block[self.at..]) {
            let from = self.at;
            self.at += length + 1;
            return Ok(Some((&self.block[from..from + length], true)));
        }
        let start = self.offset();
        self.piece.clear();
        while self.refill()? {
            let rest = &self.block[self.at..];
            let end = memchr::memchr(b'\n', rest);
            let length = end.unwrap_or(rest.len());
            if self.piece.len() + length > most {
                return Err(self.error(start, format!("a line of at most {most} bytes"), "a longer one"));
            }
            let account = match &mut self.account {
                Some(account) => account,
                None => self.account.insert(MemoryAccount::new(&self.context.budget, "a line of the trace")?),
            };
            account.make_room(&mut self.piece, length)?;
            self.piece.extend_from_slice(&rest[..length]);
            self.at += length;
            if end.is_some() {
                self.at += 1;
                return Ok(Some((&self.piece, true)));
            }
        }
        Ok(Some((&self.piece, false)))
    }

    /// Appends up to `count` bytes to `out`; returns their number.
    pub fn append_to(&mut self, out: &mut Vec<u8>, count: usize) -> Result<usize, StageError> {
        let mut left = count;
        while left > 0 && self.refill()? {
            let taken = left.min(self.block.len() - self.at);
            out.extend_from_slice(&self.block[self.at..self.at + taken]);
            self.at += taken;
            left -= taken;
        }
        Ok(count - left)
    }

    /// Skips up to `count` bytes; returns their number.
    pub fn skip(&mut self, count: usize) -> Result<usize, StageError> {
        let mut left = count;
        while left > 0 && self.refill()? {
            let passed = left.min(self.block.len() - self.at);
            self.at += passed;
            left -= passed;
        }
        Ok(count - left)
    }

    /// Returns the next `N` bytes. `what` names them in errors.
    ///
    /// # Errors
    /// [`StageError::Input`] at the end of the content.
    pub fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], StageError> {
        let start = self.offset();
        let mut array = [0; N];
        for byte in &mut array {
            if !self.refill()? {
                return Err(self.error(start, what, "the end of the trace"));
            }
            *byte = self.block[self.at];
            self.at += 1;
        }
        Ok(array)
    }

    /// Skips the rest of the content.
    pub fn drain(&mut self) -> Result<(), StageError> {
        while self.refill()? {
            self.at = self.block.len();
        }
        Ok(())
    }
}
