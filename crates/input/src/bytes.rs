//! A content front to back, in pieces of any length: the one reader below all formats. The module `json` adds tokens
//! to it.

use crate::source::{Identity, Source};
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Context, StageError};

/// Advice of most errors in traces.
pub const HINT: &str = "the trace is damaged or incomplete: record or copy it again";

/// Largest piece of [`Bytes::take`]; longer data is taken in parts.
pub const MOST_PIECE: usize = 16 << 20;

/// Reader of a content in blocks, with offset and progress. A piece inside one block is a slice of it; one that spans
/// blocks is copied.
pub struct Bytes<'a> {
    pub(crate) source: Source,
    pub(crate) context: &'a Context<'a>,
    pub(crate) block: Vec<u8>,
    /// Bytes of the block consumed.
    pub(crate) at: usize,
    /// Bytes before the block.
    pub(crate) before: u64,
    hint: &'static str,
    /// A piece or a line that spans blocks.
    joint: Vec<u8>,
    /// The memory account of lines that span blocks, once there is one.
    account: Option<MemoryAccount>,
}

impl<'a> Bytes<'a> {
    /// Starts at the beginning of the content of a trace.
    pub fn new(source: Source, context: &'a Context<'a>) -> Self {
        Self { source, context, block: Vec::new(), at: 0, before: 0, hint: HINT, joint: Vec::new(), account: None }
    }

    /// Sets the advice of errors.
    #[must_use]
    pub fn with_hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    /// Sets the offset of the first byte, for a source that is a part of an input.
    #[must_use]
    pub fn from_offset(self, offset: u64) -> Self {
        Self { before: offset, ..self }
    }

    /// The context of the reader.
    pub fn context(&self) -> &'a Context<'a> {
        self.context
    }

    /// Offset of the next byte.
    #[inline]
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
        StageError::input(self.name(), offset, expected, found, self.hint)
    }

    /// Creates an error at the next byte, which it quotes.
    pub fn unexpected(&self, expected: impl Into<String>) -> StageError {
        let rest = self.ahead();
        let found = if rest.is_empty() { "the end of the input".to_owned() } else { quote(rest) };
        self.error(self.offset(), expected, found)
    }

    /// Checks for cancellation, as each new block does; one block may have many slow events.
    #[inline]
    pub fn check(&self) -> Result<(), StageError> {
        self.context.check()
    }

    /// Ensures that a byte is available; false at the end.
    #[inline]
    pub(crate) fn refill(&mut self) -> Result<bool, StageError> {
        if self.at < self.block.len() { Ok(true) } else { self.next_block() }
    }

    #[cold]
    fn next_block(&mut self) -> Result<bool, StageError> {
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

    /// Whether the content is exhausted.
    pub fn at_end(&mut self) -> Result<bool, StageError> {
        self.refill().map(|more| !more)
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

    /// Returns the rest of the current block without consuming it.
    #[inline]
    pub fn ahead(&self) -> &[u8] {
        &self.block[self.at..]
    }

    /// Consumes `count` bytes of [`Self::ahead`].
    #[inline]
    pub fn advance(&mut self, count: usize) {
        self.at += count;
    }

    /// Takes the next `count` bytes, at most [`MOST_PIECE`].
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&[u8], StageError> {
        if self.block.len() - self.at >= count {
            self.at += count;
            return Ok(&self.block[self.at - count..self.at]);
        }
        self.join(count)?;
        Ok(&self.joint)
    }

    /// Takes a piece that spans blocks.
    #[cold]
    fn join(&mut self, count: usize) -> Result<(), StageError> {
        let offset = self.offset();
        if count > MOST_PIECE {
            return Err(self.error(offset, format!("at most {MOST_PIECE} bytes"), count.to_string()));
        }
        let mut joint = std::mem::take(&mut self.joint);
        joint.clear();
        let found = self.append_to(&mut joint, count)?;
        self.joint = joint;
        self.whole(offset, count as u64, found as u64)
    }

    /// Fails if the content ended after `found` of `count` bytes.
    fn whole(&self, offset: u64, count: u64, found: u64) -> Result<(), StageError> {
        if found == count {
            return Ok(());
        }
        let found = format!("the end of the content, {found} bytes further on");
        Err(self.error(offset, format!("{count} bytes"), found))
    }

    /// Takes some of the next `most` bytes: a whole number of `unit`s, at least one.
    #[inline]
    pub fn some(&mut self, unit: usize, most: u64) -> Result<&[u8], StageError> {
        let here = (self.block.len() - self.at) as u64;
        let whole = here.min(most) as usize / unit * unit;
        self.take(whole.max(unit))
    }

    /// Skips `count` bytes.
    #[inline]
    pub fn skip(&mut self, count: u64) -> Result<(), StageError> {
        if (self.block.len() - self.at) as u64 >= count {
            self.at += count as usize;
            return Ok(());
        }
        let offset = self.offset();
        let found = self.skip_up_to(count)?;
        self.whole(offset, count, found)
    }

    /// Skips up to `count` bytes; returns their number.
    pub fn skip_up_to(&mut self, count: u64) -> Result<u64, StageError> {
        let mut left = count;
        while left > 0 && self.refill()? {
            let passed = left.min((self.block.len() - self.at) as u64);
            self.at += passed as usize;
            left -= passed;
        }
        Ok(count - left)
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
        self.joint.clear();
        while self.refill()? {
            let rest = &self.block[self.at..];
            let end = memchr::memchr(b'\n', rest);
            let length = end.unwrap_or(rest.len());
            if self.joint.len() + length > most {
                return Err(self.error(start, format!("a line of at most {most} bytes"), "a longer one"));
            }
            let account = match &mut self.account {
                Some(account) => account,
                None => self.account.insert(MemoryAccount::new(&self.context.budget, "a line of the trace")?),
            };
            account.make_room(&mut self.joint, length)?;
            self.joint.extend_from_slice(&rest[..length]);
            self.at += length;
            if end.is_some() {
                self.at += 1;
                return Ok(Some((&self.joint, true)));
            }
        }
        Ok(Some((&self.joint, false)))
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

/// Quotes the first bytes, for a message.
pub(crate) fn quote(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(16)];
    format!("{:?}", String::from_utf8_lossy(shown))
}
