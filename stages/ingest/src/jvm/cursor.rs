//! A forward cursor over the content: pieces without copying, and skips over large parts.

use heaplake_input::source::{Identity, Source};
use heaplake_kit::{Context, InputError, StageError};

/// Largest piece; longer data is taken in parts.
pub(crate) const MOST_PIECE: usize = 16 << 20;

/// Reads the content of an input in blocks from the source's thread. A piece inside one block is a slice of it; one
/// that spans blocks is copied to a small buffer.
pub(crate) struct Cursor<'a> {
    source: Source,
    context: &'a Context<'a>,
    block: Vec<u8>,
    at: usize,
    /// Offset of the block in the content.
    base: u64,
    joint: Vec<u8>,
    hint: &'static str,
}

impl<'a> Cursor<'a> {
    /// Starts at the beginning of a source. Errors give the advice `hint`.
    pub(crate) fn new(source: Source, context: &'a Context<'a>, hint: &'static str) -> Self {
        Self { source, context, block: Vec::new(), at: 0, base: 0, joint: Vec::new(), hint }
    }

    /// Offset in the content.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Identity of the input; `None` before its end.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.source.identity()
    }

    /// Whether the content is exhausted.
    pub(crate) fn at_end(&mut self) -> Result<bool, StageError> {
        while self.at == self.block.len() {
            if !self.next_block()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes the next `count` bytes, at most [`MOST_PIECE`].
    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> Result<&[u8], StageError> {
        if self.block.len() - self.at >= count {
            self.at += count;
            return Ok(&self.block[self.at - count..self.at]);
        }
        self.join(count)?;
        Ok(&self.joint)
    }

    /// Returns the rest of the current block without taking it.
    #[inline]
    pub(crate) fn ahead(&self) -> &[u8] {
        &self.block[self.at..]
    }

    /// Takes `count` bytes of [`Self::ahead`].
    #[inline]
    pub(crate) fn advance(&mut self, count: usize) {
        self.at += count;
    }

    /// Takes a piece that spans blocks.
    #[cold]
    fn join(&mut self, count: usize) -> Result<(), StageError> {
        let offset = self.offset();
        if count > MOST_PIECE {
            return Err(self.error(offset, format!("at most {MOST_PIECE} bytes"), count.to_string()));
        }
        self.joint.clear();
        while self.joint.len() < count {
            if self.at_end()? {
                let found = format!("the end of the content, {} bytes further on", self.joint.len());
                return Err(self.error(offset, format!("{count} bytes"), found));
            }
            let part = (count - self.joint.len()).min(self.block.len() - self.at);
            self.joint.extend_from_slice(&self.block[self.at..self.at + part]);
            self.at += part;
        }
        Ok(())
    }

    /// Takes some of the next `most` bytes: a whole number of `unit`s, at least one.
    #[inline]
    pub(crate) fn some(&mut self, unit: usize, most: u64) -> Result<&[u8], StageError> {
        let here = (self.block.len() - self.at) as u64;
        let whole = here.min(most) as usize / unit * unit;
        self.take(whole.max(unit))
    }

    /// Skips `count` bytes.
    #[inline]
    pub(crate) fn skip(&mut self, count: u64) -> Result<(), StageError> {
        if (self.block.len() - self.at) as u64 >= count {
            self.at += count as usize;
            return Ok(());
        }
        self.skip_far(count)
    }

    #[cold]
    fn skip_far(&mut self, count: u64) -> Result<(), StageError> {
        let (start, mut left) = (self.offset(), count);
        while left > 0 {
            if self.at_end()? {
                let found = format!("the end of the content, {} bytes further on", count - left);
                return Err(self.error(start, format!("{count} bytes"), found));
            }
            let part = left.min((self.block.len() - self.at) as u64);
            self.at += part as usize;
            left -= part;
        }
        Ok(())
    }

    /// Reads to the end of the content.
    pub(crate) fn finish(&mut self) -> Result<(), StageError> {
        while !self.at_end()? {
            self.at = self.block.len();
        }
        Ok(())
    }

    /// Returns an error of the input at an offset.
    pub(crate) fn error(&self, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> StageError {
        let (file, expected, found) = (self.source.name().to_owned(), expected.into(), found.into());
        InputError { file, offset, expected, found, hint: self.hint }.into()
    }

    #[cold]
    fn next_block(&mut self) -> Result<bool, StageError> {
        let before = self.block.len() as u64;
        if !self.source.next_block(&mut self.block, self.context)? {
            return Ok(false);
        }
        self.base += before;
        self.at = 0;
        self.context.step(before)?;
        Ok(true)
    }
}
