//! A streaming JSON lexer over blocks: no tree, no recursion, bounded buffers, every error with its offset.
//!
//! The caller drives it: it asks for what its format puts next. Values it does not care for are passed over or copied
//! raw without being understood further than their brackets and quotes.

use crate::source::{Identity, Source};
use heaplake_kit::{Context, InputError, StageError};

/// Pieces in which a string that straddles blocks or holds escapes is handed on, bytes.
const PIECE: usize = 64 << 10;

/// Takes the strings of an array, each in one or more pieces.
pub trait StringSink {
    /// A piece of the current string: UTF-8 with lone surrogates as generalised three-byte sequences.
    ///
    /// # Errors
    /// The sink's own.
    fn piece(&mut self, bytes: &[u8]) -> Result<(), StageError>;
    /// The current string is complete.
    ///
    /// # Errors
    /// The sink's own.
    fn end(&mut self) -> Result<(), StageError>;
}

/// See the module.
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
    pub(crate) fn context(&self) -> &'a Context<'a> {
        self.context
    }

    /// What is left of the current block; the next block where that is nothing; nothing at the end of the input.
    pub(crate) fn rest(&mut self) -> Result<&[u8], StageError> {
        self.peek()?;
        Ok(&self.block[self.position..])
    }

    /// Consumes so many bytes of [`Self::rest`].
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.position += bytes;
    }

    /// Gives the current block away, in exchange for one that is used up, and consumes it whole. Gives where in the block
    /// [`Self::rest`] began.
    pub(crate) fn exchange(&mut self, block: &mut Vec<u8>) -> Result<usize, StageError> {
        self.source.recycle(std::mem::replace(block, std::mem::take(&mut self.block)));
        self.base += block.len() as u64;
        self.context.step(block.len() as u64)?;
        Ok(std::mem::take(&mut self.position))
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

    /// A short string, such as a key.
    ///
    /// # Errors
    /// [`StageError::Input`] when no string comes, or one longer than `most` bytes.
    pub fn short_string(&mut self, most: usize) -> Result<Vec<u8>, StageError> {
        /// The text, as long as it is short, and its whole length.
        struct Short(Vec<u8>, usize, usize);
        impl StringSink for Short {
            fn piece(&mut self, bytes: &[u8]) -> Result<(), StageError> {
                self.1 += bytes.len();
                if self.1 <= self.2 {
                    self.0.extend_from_slice(bytes);
                }
                Ok(())
            }
            fn end(&mut self) -> Result<(), StageError> {
                Ok(())
            }
        }
        self.expect(b'"', "a string")?;
        let offset = self.offset();
        let mut short = Short(Vec::new(), 0, most);
        self.string_body(&mut short)?;
        if short.1 > most {
            return Err(self.error_at(offset, &format!("at most {most} bytes"), format!("{} bytes", short.1)));
        }
        Ok(short.0)
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

    /// An array of strings.
    ///
    /// # Errors
    /// [`StageError::Input`] at the first thing that is no string; what `sink` returns.
    pub fn string_array(&mut self, sink: &mut impl StringSink) -> Result<(), StageError> {
        self.expect(b'[', "an array ([)")?;
        if self.accept(b']')? {
            return Ok(());
        }
        loop {
            self.expect(b'"', "a string")?;
            self.string_body(sink)?;
            if self.accept(b']')? {
                return Ok(());
            }
            self.expect(b',', "a comma or the end of the array (])")?;
        }
    }

    /// What follows a string's opening quote, up to and with the closing one.
    fn string_body(&mut self, sink: &mut impl StringSink) -> Result<(), StageError> {
        // A high surrogate that waits for its other half.
        let mut high: Option<u16> = None;
        loop {
            if self.peek()?.is_none() {
                return Err(self.error("the end of this string (\")"));
            }
            let window = &self.block[self.position..];
            let run = memchr::memchr2(b'"', b'\\', window).unwrap_or(window.len());
            let stop = window.get(run).copied();
            if (run > 0 || stop == Some(b'"'))
                && let Some(high) = high.take()
            {
                sink.piece(&generalised(high))?;
            }
            for piece in window[..run].chunks(PIECE) {
                sink.piece(piece)?;
            }
            self.position += run;
            match stop {
                None => {}
                Some(b'"') => {
                    self.position += 1;
                    return sink.end();
                }
                Some(_) => {
                    self.position += 1;
                    self.escape(&mut high, sink)?;
                }
            }
        }
    }

    /// What follows a backslash.
    fn escape(&mut self, high: &mut Option<u16>, sink: &mut impl StringSink) -> Result<(), StageError> {
        let plain = match self.peek()? {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.position += 1;
                let unit = self.hex4()?;
                return self.code_unit(unit, high, sink);
            }
            _ => return Err(self.error("an escape (one of \"\\/bfnrtu)")),
        };
        self.position += 1;
        if let Some(high) = high.take() {
            sink.piece(&generalised(high))?;
        }
        sink.piece(&[plain])
    }

    fn hex4(&mut self) -> Result<u16, StageError> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek()?.and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else { return Err(self.error("four hexadecimal digits")) };
            unit = unit << 4 | digit as u16;
            self.position += 1;
        }
        Ok(unit)
    }

    /// A UTF-16 code unit from a `\u` escape: pairs become one character, halves stay what they are.
    fn code_unit(&mut self, unit: u16, high: &mut Option<u16>, sink: &mut impl StringSink) -> Result<(), StageError> {
        if let Some(first) = high.take() {
            if let Some(Ok(character)) = char::decode_utf16([first, unit]).next() {
                return sink.piece(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            sink.piece(&generalised(first))?;
        }
        match unit {
            0xd800..=0xdbff => {
                *high = Some(unit);
                Ok(())
            }
            0xdc00..=0xdfff => sink.piece(&generalised(unit)),
            _ => {
                let character = char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER);
                sink.piece(character.encode_utf8(&mut [0; 4]).as_bytes())
            }
        }
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

/// A lone surrogate in the three-byte form of generalised UTF-8.
fn generalised(unit: u16) -> [u8; 3] {
    [0xe0 | (unit >> 12) as u8, 0x80 | (unit >> 6 & 0x3f) as u8, 0x80 | (unit & 0x3f) as u8]
}

/// The first bytes of what was found, for a message.
pub(crate) fn quote(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(16)];
    format!("{:?}", String::from_utf8_lossy(shown))
}
