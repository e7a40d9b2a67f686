//! JSON strings: short ones as a whole, others in pieces.

use crate::bytes::Bytes;
use heaplake_kit::StageError;
use std::mem;

/// Maximum bytes of a piece of a string.
const PIECE: usize = 64 << 10;

/// Receives the strings of an array, each in one or more pieces.
pub trait StringSink {
    /// A piece of the current string: UTF-8 with lone surrogates as generalised three-byte sequences.
    fn piece(&mut self, bytes: &[u8]) -> Result<(), StageError>;
    /// The current string is complete.
    fn end(&mut self) -> Result<(), StageError>;
}

impl Bytes<'_> {
    /// Reads a short string, such as a key.
    ///
    /// # Errors
    /// [`StageError::Input`] for a string of more than `most` bytes.
    pub fn short_string(&mut self, most: usize) -> Result<Vec<u8>, StageError> {
        /// The text while it is short, its length, and the maximum.
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
            return Err(self.error(offset, format!("at most {most} bytes"), format!("{} bytes", short.1)));
        }
        Ok(short.0)
    }

    /// As [`Self::short_string`], as text: see [`readable`].
    pub fn short_text(&mut self, most: usize) -> Result<String, StageError> {
        self.short_string(most).map(|bytes| readable(&bytes))
    }

    /// Reads the next key of an object after its `{`, with its colon; `None` at the end of the object, which is
    /// consumed. `first` is true before the first key.
    ///
    /// # Errors
    /// [`StageError::Input`] for a key of more than `most` bytes.
    pub fn next_key(&mut self, first: &mut bool, most: usize) -> Result<Option<Vec<u8>>, StageError> {
        if self.accept(b'}')? {
            return Ok(None);
        }
        if !mem::take(first) {
            self.expect(b',', "a comma or the end of the object (})")?;
        }
        let key = self.short_string(most)?;
        self.expect(b':', "a colon")?;
        Ok(Some(key))
    }

    /// Reads an array of strings.
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

    /// Reads a string after its opening quote, including the closing one.
    fn string_body(&mut self, sink: &mut impl StringSink) -> Result<(), StageError> {
        // A pending high surrogate.
        let mut high: Option<u16> = None;
        loop {
            let window = self.rest()?;
            if window.is_empty() {
                return Err(self.unexpected("the end of this string (\")"));
            }
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
            self.advance(run);
            match stop {
                None => {}
                Some(b'"') => {
                    self.advance(1);
                    return sink.end();
                }
                Some(_) => {
                    self.advance(1);
                    self.escape(&mut high, sink)?;
                }
            }
        }
    }

    /// Reads an escape after its backslash.
    fn escape(&mut self, high: &mut Option<u16>, sink: &mut impl StringSink) -> Result<(), StageError> {
        let plain = match self.peek()? {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.advance(1);
                let unit = self.hex4()?;
                return self.code_unit(unit, high, sink);
            }
            _ => return Err(self.unexpected("an escape (one of \"\\/bfnrtu)")),
        };
        self.advance(1);
        if let Some(high) = high.take() {
            sink.piece(&generalised(high))?;
        }
        sink.piece(&[plain])
    }

    fn hex4(&mut self) -> Result<u16, StageError> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek()?.and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else { return Err(self.unexpected("four hexadecimal digits")) };
            unit = unit << 4 | digit as u16;
            self.advance(1);
        }
        Ok(unit)
    }

    /// Handles a UTF-16 code unit of a `\u` escape: pairs become one character, lone surrogates are kept.
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
}

/// Encodes a lone surrogate in generalised UTF-8 (three bytes).
fn generalised(unit: u16) -> [u8; 3] {
    [0xe0 | (unit >> 12) as u8, 0x80 | (unit >> 6 & 0x3f) as u8, 0x80 | (unit & 0x3f) as u8]
}

/// Converts to text; each run of invalid bytes, such as lone surrogates, becomes one U+FFFD.
pub fn readable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut within = false;
    for chunk in bytes.utf8_chunks() {
        within &= chunk.valid().is_empty();
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() && !mem::replace(&mut within, true) {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use heaplake_kit::stage::Silent;
    use heaplake_kit::{Budget, Context};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn texts_are_for_people() {
        let cancel = AtomicBool::new(false);
        let context = Context { budget: Budget::new(0), threads: 1, progress: &Silent, cancel: &cancel };
        for block in [1, 7, 1 << 10] {
            let json = br#" "f\u0041\n\u00e4" "\ud83d\ude00" "a\ud800b" "\udc00\ud800" "12345""#;
            let mut scanner = Bytes::new(Source::of_bytes(*json, block), &context).with_hint("hint");
            for text in ["fA\nä", "😀", "a\u{fffd}b", "\u{fffd}"] {
                assert_eq!(scanner.short_text(8).unwrap(), text);
            }
            let error = scanner.short_text(4).unwrap_err().to_string();
            assert_eq!(error, "memory: byte 61: expected at most 4 bytes, found 5 bytes");
        }
    }
}
