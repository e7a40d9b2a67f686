//! A content in pieces of any length: fields of binary formats, and lines.

use crate::source::{Identity, Source};
use heaplake_kit::charge::Charge;
use heaplake_kit::{Context, InputError, StageError};

/// What most errors advise.
pub const HINT: &str = "the trace is damaged or incomplete: record or copy it again";

/// Hands the content out in pieces of any length, knows where it is, and tells of progress.
pub struct Bytes<'a> {
    source: Source,
    context: &'a Context<'a>,
    block: Vec<u8>,
    /// Bytes of the block that were handed out.
    at: usize,
    /// Bytes before the block.
    before: u64,
    /// A line that spans blocks.
    piece: Vec<u8>,
    /// Its memory, once there is such a line.
    charge: Option<Charge>,
}

impl<'a> Bytes<'a> {
    /// At the beginning of the content.
    #[must_use]
    pub fn new(source: Source, context: &'a Context<'a>) -> Self {
        Self { source, context, block: Vec::new(), at: 0, before: 0, piece: Vec::new(), charge: None }
    }

    /// Bytes handed out so far.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// How messages call the input.
    #[must_use]
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Identity of the input, once its end was reached.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.source.identity()
    }

    /// An error at an offset.
    pub fn error(&self, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> StageError {
        let (expected, found) = (expected.into(), found.into());
        InputError { file: self.name().to_owned(), offset, expected, found, hint: HINT }.into()
    }

    /// Hears signals; blocks do so too, but one may hold many events that take long.
    ///
    /// # Errors
    /// [`StageError::Cancelled`].
    #[inline]
    pub fn check(&self) -> Result<(), StageError> {
        self.context.check()
    }

    /// Makes sure that a byte is there; false at the end.
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

    /// The next byte, which stays; nothing at the end.
    ///
    /// # Errors
    /// Those of [`Source::next_block`].
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, StageError> {
        Ok(if self.refill()? { Some(self.block[self.at]) } else { None })
    }

    /// The next byte; nothing at the end.
    ///
    /// # Errors
    /// Those of [`Source::next_block`].
    #[inline]
    pub fn byte(&mut self) -> Result<Option<u8>, StageError> {
        let byte = self.peek()?;
        self.at += usize::from(byte.is_some());
        Ok(byte)
    }

    /// The next line without its end, of at most `most` bytes; nothing at the end of the content. The second value is
    /// whether the line has an end.
    ///
    /// # Errors
    /// Those of [`Source::next_block`], [`StageError::Budget`], and [`StageError::Input`] for a line that is longer.
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
            let charge = match &mut self.charge {
                Some(charge) => charge,
                None => self.charge.insert(Charge::new(&self.context.budget, "a line of the trace")?),
            };
            charge.make_room(&mut self.piece, length)?;
            self.piece.extend_from_slice(&rest[..length]);
            self.at += length;
            if end.is_some() {
                self.at += 1;
                return Ok(Some((&self.piece, true)));
            }
        }
        Ok(Some((&self.piece, false)))
    }

    /// Appends the next `count` bytes to `out`, or as many as there are; how many that is.
    ///
    /// # Errors
    /// Those of [`Source::next_block`].
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

    /// Passes over the next `count` bytes, or as many as there are; how many that is.
    ///
    /// # Errors
    /// Those of [`Source::next_block`].
    pub fn skip(&mut self, count: usize) -> Result<usize, StageError> {
        let mut left = count;
        while left > 0 && self.refill()? {
            let passed = left.min(self.block.len() - self.at);
            self.at += passed;
            left -= passed;
        }
        Ok(count - left)
    }

    /// The next `N` bytes, which must be there; `what` they are, in errors.
    ///
    /// # Errors
    /// Those of [`Source::next_block`], and [`StageError::Input`] where the content ends.
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

    /// Passes over the rest of the content.
    ///
    /// # Errors
    /// Those of [`Source::next_block`].
    pub fn drain(&mut self) -> Result<(), StageError> {
        while self.refill()? {
            self.at = self.block.len();
        }
        Ok(())
    }
}
