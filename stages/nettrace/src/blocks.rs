//! The bytes of a trace, whoever brings them.

use heaplake_kit::{InputError, StageError};

/// What most errors advise.
pub const HINT: &str = "the trace is damaged or incomplete: record or copy it again";

/// Brings the content of a trace block by block, decompressed.
pub trait Blocks {
    /// How messages call the trace.
    fn name(&self) -> &str;

    /// Replaces `block` by the next bytes; false at the end.
    ///
    /// # Errors
    /// Those of reading and decompressing, and [`StageError::Cancelled`].
    fn next_block(&mut self, block: &mut Vec<u8>) -> Result<bool, StageError>;
}

/// Hands the content out in pieces of any length, and knows where it is.
pub struct Bytes<'a> {
    blocks: &'a mut dyn Blocks,
    block: Vec<u8>,
    /// Bytes of the block that were handed out.
    at: usize,
    /// Bytes before the block.
    before: u64,
    /// A piece that spans blocks.
    piece: Vec<u8>,
}

impl<'a> Bytes<'a> {
    /// At the beginning of the content.
    pub fn new(blocks: &'a mut dyn Blocks) -> Self {
        Self { blocks, block: Vec::new(), at: 0, before: 0, piece: Vec::new() }
    }

    /// Bytes handed out so far.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// An error at an offset.
    pub fn error(&self, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> StageError {
        let (expected, found) = (expected.into(), found.into());
        InputError { file: self.blocks.name().to_owned(), offset, expected, found, hint: HINT }.into()
    }

    /// Makes sure that a byte is there; false at the end.
    fn refill(&mut self) -> Result<bool, StageError> {
        while self.at == self.block.len() {
            self.before += self.block.len() as u64;
            self.at = 0;
            if !self.blocks.next_block(&mut self.block)? {
                self.block.clear();
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The next byte, which stays; nothing at the end.
    ///
    /// # Errors
    /// Those of [`Blocks`].
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, StageError> {
        Ok(if self.refill()? { Some(self.block[self.at]) } else { None })
    }

    /// The next byte; nothing at the end.
    ///
    /// # Errors
    /// Those of [`Blocks`].
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
    /// Those of [`Blocks`], and [`StageError::Input`] for a line that is longer.
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
    /// Those of [`Blocks`].
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

    /// The next `N` bytes, which must be there; `what` they are, in errors.
    ///
    /// # Errors
    /// Those of [`Blocks`], and [`StageError::Input`] where the content ends.
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
    /// Those of [`Blocks`].
    pub fn drain(&mut self) -> Result<(), StageError> {
        while self.refill()? {
            self.at = self.block.len();
        }
        Ok(())
    }
}
