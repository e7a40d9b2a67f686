//! Reads values of JSON one after the other: all but strings.

use crate::source::{Identity, Source};
use heaplake_kit::{Context, InputError, StageError};
use std::mem;

/// Longest number that makes sense, digits.
const MOST_DIGITS: usize = 1 << 10;

/// U+FEFF in UTF-8.
pub(crate) const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Longest text behind a JSON text that is passed over, bytes.
const MOST_BEHIND: usize = 1 << 10;

/// Reads values one after the other; those with strings in them are in the module `strings`.
pub struct Scanner<'a> {
    source: Source,
    context: &'a Context<'a>,
    block: Vec<u8>,
    position: usize,
    base: u64,
    hint: &'static str,
}

impl<'a> Scanner<'a> {
    /// Reads from `source`, whose first byte has the offset `base` in error messages; `hint` is what errors advise.
    #[must_use]
    pub fn new(source: Source, context: &'a Context<'a>, base: u64, hint: &'static str) -> Self {
        Self { source, context, block: Vec::new(), position: 0, base, hint }
    }

    /// What the scanner was given.
    #[must_use]
    pub fn context(&self) -> &'a Context<'a> {
        self.context
    }

    /// What is left of the current block; the next block where that is nothing; nothing at the end of the input.
    #[inline]
    pub(crate) fn rest(&mut self) -> Result<&[u8], StageError> {
        self.peek()?;
        Ok(&self.block[self.position..])
    }

    /// Consumes so many bytes of [`Self::rest`].
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.position += bytes;
    }

    /// Gives the current block away, in exchange for one that is used up, and consumes it whole. Gives where in the
    /// block [`Self::rest`] began.
    pub(crate) fn exchange(&mut self, block: &mut Vec<u8>) -> Result<usize, StageError> {
        self.source.recycle(mem::replace(block, mem::take(&mut self.block)));
        self.base += block.len() as u64;
        self.context.step(block.len() as u64)?;
        Ok(mem::take(&mut self.position))
    }

    /// Offset of the next byte.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.base + self.position as u64
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

    /// An error at the next byte.
    #[must_use]
    pub fn error(&self, expected: &str) -> StageError {
        let found = match self.block.get(self.position) {
            None => "the end of the input".to_owned(),
            Some(_) => quote(&self.block[self.position..]),
        };
        self.error_at(self.offset(), expected, found)
    }

    /// An error at any offset.
    #[must_use]
    pub fn error_at(&self, offset: u64, expected: &str, found: String) -> StageError {
        let (file, expected) = (self.source.name().to_owned(), expected.to_owned());
        InputError { file, offset, expected, found, hint: self.hint }.into()
    }

    /// The next byte, if any, not consumed.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Cancelled`].
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, StageError> {
        if self.position == self.block.len() && !self.next_block()? {
            return Ok(None);
        }
        Ok(Some(self.block[self.position]))
    }

    /// The next byte that is no white space, if any, not consumed.
    ///
    /// # Errors
    /// As [`Self::peek`].
    pub fn peek_token(&mut self) -> Result<Option<u8>, StageError> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.position += 1,
                other => return Ok(other),
            }
        }
    }

    /// Consumes this byte after any white space.
    ///
    /// # Errors
    /// [`StageError::Input`] when something else comes.
    pub fn expect(&mut self, byte: u8, name: &str) -> Result<(), StageError> {
        if self.peek_token()? == Some(byte) {
            self.position += 1;
            Ok(())
        } else {
            Err(self.error(name))
        }
    }

    /// Consumes this byte after any white space, if it comes.
    ///
    /// # Errors
    /// As [`Self::peek`].
    pub fn accept(&mut self, byte: u8) -> Result<bool, StageError> {
        let comes = self.peek_token()? == Some(byte);
        self.position += usize::from(comes);
        Ok(comes)
    }

    /// One unsigned integer.
    ///
    /// # Errors
    /// [`StageError::Input`] when none comes.
    pub fn number(&mut self) -> Result<u64, StageError> {
        self.peek_token()?;
        let offset = self.offset();
        let mut number = None;
        while let Some(byte) = self.peek()?.filter(u8::is_ascii_digit) {
            let digit = u64::from(byte - b'0');
            number = number.unwrap_or(0u64).checked_mul(10).and_then(|tens| tens.checked_add(digit));
            if number.is_none() {
                return Err(self.error_at(offset, "an unsigned integer below 2^64", "a larger number".to_owned()));
            }
            self.position += 1;
        }
        number.ok_or_else(|| self.error("an unsigned integer"))
    }

    /// One number of any kind.
    ///
    /// # Errors
    /// [`StageError::Input`] when none comes.
    pub fn decimal(&mut self) -> Result<f64, StageError> {
        self.peek_token()?;
        let offset = self.offset();
        let mut text = String::new();
        while let Some(byte) = self.peek()?.filter(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte)) {
            if text.len() == MOST_DIGITS {
                return Err(self.error_at(offset, "a number", format!("one of more than {MOST_DIGITS} characters")));
            }
            text.push(char::from(byte));
            self.position += 1;
        }
        if text.is_empty() {
            return Err(self.error("a number"));
        }
        text.parse().map_err(|_| self.error_at(offset, "a number", format!("{text:?}")))
    }

    /// Whether an element follows in an array whose `[` was consumed; the array's end is consumed. `first` says that no
    /// element came before.
    ///
    /// # Errors
    /// [`StageError::Input`] when no comma comes between two elements.
    pub fn next_element(&mut self, first: &mut bool) -> Result<bool, StageError> {
        if self.accept(b']')? {
            return Ok(false);
        }
        if !mem::take(first) {
            self.expect(b',', "a comma or the end of the array (])")?;
        }
        Ok(true)
    }

    /// Passes over a value of any kind.
    ///
    /// # Errors
    /// [`StageError::Input`] when none comes or it never ends.
    pub fn skip_value(&mut self) -> Result<(), StageError> {
        self.raw_value(|_| Ok(()))
    }

    /// Hands the bytes of a value of any kind to `out`, in pieces.
    ///
    /// # Errors
    /// [`StageError::Input`] when none comes or it never ends; what `out` returns.
    pub fn raw_value(&mut self, mut out: impl FnMut(&[u8]) -> Result<(), StageError>) -> Result<(), StageError> {
        let mut depth = 0u64;
        let mut in_string = false;
        let mut escaped = false;
        if matches!(self.peek_token()?, None | Some(b',' | b':' | b']' | b'}')) {
            return Err(self.error("a value"));
        }
        loop {
            let start = self.position;
            let mut done = false;
            while let Some(&byte) = self.block.get(self.position) {
                if in_string {
                    in_string = escaped || byte != b'"';
                    escaped = !escaped && byte == b'\\';
                    done = !in_string && depth == 0;
                } else {
                    match byte {
                        b'"' => in_string = true,
                        b'[' | b'{' => depth += 1,
                        b']' | b'}' | b',' if depth == 0 => {
                            // The end of a number or a word, which belongs to the caller.
                            return out(&self.block[start..self.position]);
                        }
                        b']' | b'}' => {
                            depth -= 1;
                            done = depth == 0;
                        }
                        _ => {}
                    }
                }
                self.position += 1;
                if done {
                    return out(&self.block[start..self.position]);
                }
            }
            out(&self.block[start..])?;
            if !self.next_block()? {
                return Err(self.error("the end of this value"));
            }
        }
    }

    /// Passes over whatever comes up to the next of these keys of an object, and its colon; nothing where none comes.
    /// Inside of a string no key is found, for quotes are escaped there.
    ///
    /// # Errors
    /// As [`Self::peek`].
    pub fn seek_key<'n>(&mut self, keys: &[&'n str]) -> Result<Option<&'n str>, StageError> {
        let longest = keys.iter().map(|key| key.len()).max().unwrap_or(0);
        let mut word = Vec::new();
        // Whether the last byte was a quote, behind which a key may begin.
        let mut quoted = false;
        loop {
            let Some(byte) = self.peek()? else { return Ok(None) };
            if !quoted {
                let rest = self.rest()?;
                let quote = memchr::memchr(b'"', rest);
                let passed = quote.map_or(rest.len(), |quote| quote + 1);
                self.consume(passed);
                quoted = quote.is_some();
                word.clear();
            } else if byte == b'"' {
                self.position += 1;
                if let Some(key) = keys.iter().find(|key| key.as_bytes() == word)
                    && self.accept(b':')?
                {
                    return Ok(Some(key));
                }
                word.clear();
            } else if word.len() == longest {
                quoted = false;
            } else {
                word.push(byte);
                self.position += 1;
            }
        }
    }

    /// Passes over a byte order mark, which editors and shells of Windows put before a text of UTF-8.
    ///
    /// # Errors
    /// [`StageError::Input`] where only its first byte is there.
    pub fn skip_byte_order_mark(&mut self) -> Result<(), StageError> {
        let offset = self.offset();
        if offset != 0 || self.peek()? != Some(BYTE_ORDER_MARK[0]) {
            return Ok(());
        }
        for byte in BYTE_ORDER_MARK {
            if self.peek()? != Some(byte) {
                return Err(self.error("the rest of a byte order mark (EF BB BF)"));
            }
            self.position += 1;
        }
        Ok(())
    }

    /// Goes to the end of the input, which should be here. White space and NUL bytes are passed over, and so is a short text
    /// such as the last line of a terminal: what it says of these.
    ///
    /// # Errors
    /// [`StageError::Input`] where something longer comes, or the rest of a JSON text.
    pub fn behind(&mut self) -> Result<Option<String>, StageError> {
        let (mut zeros, mut text, mut begins) = (0u64, Vec::new(), 0);
        self.peek_token()?;
        let start = self.offset();
        let here = self.error("the end of the input");
        while let Some(byte) = self.peek()? {
            let is_blank = matches!(byte, 0 | b' ' | b'\n' | b'\r' | b'\t');
            zeros += u64::from(byte == 0);
            if text.is_empty() && !is_blank {
                begins = self.offset();
            }
            if !text.is_empty() || !is_blank {
                text.push(byte);
            }
            if text.len() > MOST_BEHIND || b"{}[]\",:".contains(&byte) {
                return Err(here);
            }
            self.position += 1;
        }
        Ok(if !text.is_empty() {
            let bytes = text.len();
            Some(format!(
                "{bytes} bytes of text behind the end of the JSON are left out, from byte {begins}: {}",
                quote(&text)
            ))
        } else {
            (zeros > 0).then(|| format!("{zeros} NUL bytes behind the end of the JSON are left out, from byte {start}"))
        })
    }

    /// Passes over the rest of the input, whatever it is.
    ///
    /// # Errors
    /// As [`Self::peek`].
    pub fn drain(&mut self) -> Result<(), StageError> {
        while self.next_block()? {}
        Ok(())
    }

    fn next_block(&mut self) -> Result<bool, StageError> {
        self.base += self.block.len() as u64;
        self.context.step(self.block.len() as u64)?;
        self.position = 0;
        let more = self.source.next_block(&mut self.block, self.context)?;
        if !more {
            self.block.clear();
        }
        Ok(more)
    }
}

/// The first bytes of what was found, for a message.
pub(crate) fn quote(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(16)];
    format!("{:?}", String::from_utf8_lossy(shown))
}
