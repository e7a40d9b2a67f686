//! Reads JSON values in sequence: all but strings.

use crate::bytes::{Bytes, quote};
use heaplake_kit::StageError;
use std::mem;

/// Maximum digits of a number.
const MOST_DIGITS: usize = 1 << 10;

/// U+FEFF in UTF-8.
pub(crate) const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Maximum bytes of text behind a JSON text that is skipped.
const MOST_BEHIND: usize = 1 << 10;

/// Reads JSON values in sequence; those with strings are in the module `strings`.
impl Bytes<'_> {
    /// Returns the rest of the current or else of the next block; empty at the end of the input.
    #[inline]
    pub(crate) fn rest(&mut self) -> Result<&[u8], StageError> {
        self.refill()?;
        Ok(self.ahead())
    }

    /// Exchanges the current block for a used one and consumes it whole. Returns the position of [`Self::rest`] in the
    /// block.
    pub(crate) fn exchange(&mut self, block: &mut Vec<u8>) -> usize {
        self.source.recycle(mem::replace(block, mem::take(&mut self.block)));
        self.before += block.len() as u64;
        mem::take(&mut self.at)
    }

    /// Skips white space and returns the next byte without consuming it; `None` at the end.
    pub fn peek_token(&mut self) -> Result<Option<u8>, StageError> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return Ok(other),
            }
        }
    }

    /// Consumes this byte after optional white space.
    ///
    /// # Errors
    /// [`StageError::Input`] for another byte.
    pub fn expect(&mut self, byte: u8, name: &str) -> Result<(), StageError> {
        if self.peek_token()? == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.unexpected(name))
        }
    }

    /// Consumes this byte after optional white space, if present.
    pub fn accept(&mut self, byte: u8) -> Result<bool, StageError> {
        let comes = self.peek_token()? == Some(byte);
        self.at += usize::from(comes);
        Ok(comes)
    }

    /// Parses an unsigned integer.
    pub fn number(&mut self) -> Result<u64, StageError> {
        self.peek_token()?;
        let offset = self.offset();
        let mut number = None;
        while let Some(byte) = self.peek()?.filter(u8::is_ascii_digit) {
            let digit = u64::from(byte - b'0');
            number = number.unwrap_or(0u64).checked_mul(10).and_then(|tens| tens.checked_add(digit));
            if number.is_none() {
                return Err(self.error(offset, "an unsigned integer below 2^64", "a larger number".to_owned()));
            }
            self.at += 1;
        }
        number.ok_or_else(|| self.unexpected("an unsigned integer"))
    }

    /// Parses a number of any kind.
    pub fn decimal(&mut self) -> Result<f64, StageError> {
        self.peek_token()?;
        let offset = self.offset();
        let mut text = String::new();
        while let Some(byte) = self.peek()?.filter(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte)) {
            if text.len() == MOST_DIGITS {
                return Err(self.error(offset, "a number", format!("one of more than {MOST_DIGITS} characters")));
            }
            text.push(char::from(byte));
            self.at += 1;
        }
        if text.is_empty() {
            return Err(self.unexpected("a number"));
        }
        text.parse().map_err(|_| self.error(offset, "a number", format!("{text:?}")))
    }

    /// Returns true if an element follows in an array after its `[`; consumes the end of the array. `first` is true
    /// before the first element.
    ///
    /// # Errors
    /// [`StageError::Input`] if a comma is missing.
    pub fn next_element(&mut self, first: &mut bool) -> Result<bool, StageError> {
        if self.accept(b']')? {
            return Ok(false);
        }
        if !mem::take(first) {
            self.expect(b',', "a comma or the end of the array (])")?;
        }
        Ok(true)
    }

    /// Skips a value of any kind.
    pub fn skip_value(&mut self) -> Result<(), StageError> {
        self.raw_value(|_| Ok(()))
    }

    /// Passes the bytes of a value of any kind to `out`, in pieces.
    ///
    /// # Errors
    /// [`StageError::Input`] if there is none or it never ends.
    pub fn raw_value(&mut self, mut out: impl FnMut(&[u8]) -> Result<(), StageError>) -> Result<(), StageError> {
        let mut depth = 0u64;
        let mut in_string = false;
        let mut escaped = false;
        if matches!(self.peek_token()?, None | Some(b',' | b':' | b']' | b'}')) {
            return Err(self.unexpected("a value"));
        }
        loop {
            let start = self.at;
            let mut done = false;
            while let Some(&byte) = self.block.get(self.at) {
                if !in_string && depth > 0 && self.at.is_multiple_of(PLAIN) {
                    let plain = plain(&self.block[self.at..]);
                    if plain > 0 {
                        self.at += plain;
                        continue;
                    }
                }
                if in_string {
                    in_string = escaped || byte != b'"';
                    escaped = !escaped && byte == b'\\';
                    done = !in_string && depth == 0;
                } else {
                    match byte {
                        b'"' => in_string = true,
                        b'[' | b'{' => depth += 1,
                        b']' | b'}' | b',' if depth == 0 => {
                            // The end of a number or a word; the byte belongs to the caller.
                            return out(&self.block[start..self.at]);
                        }
                        b']' | b'}' => {
                            depth -= 1;
                            done = depth == 0;
                        }
                        _ => {}
                    }
                }
                self.at += 1;
                if done {
                    return out(&self.block[start..self.at]);
                }
            }
            out(&self.block[start..])?;
            if !self.refill()? {
                return Err(self.unexpected("the end of this value"));
            }
        }
    }

    /// Skips to the next of these keys of an object, consuming its colon; `None` if there is none. Finds no keys inside
    /// strings, where quotes are escaped.
    pub fn seek_key<'n>(&mut self, keys: &[&'n str]) -> Result<Option<&'n str>, StageError> {
        let longest = keys.iter().map(|key| key.len()).max().unwrap_or(0);
        let mut word = Vec::new();
        // True after a quote, where a key may begin.
        let mut quoted = false;
        loop {
            let Some(byte) = self.peek()? else { return Ok(None) };
            if !quoted {
                let rest = self.rest()?;
                let quote = memchr::memchr(b'"', rest);
                let passed = quote.map_or(rest.len(), |quote| quote + 1);
                self.advance(passed);
                quoted = quote.is_some();
                word.clear();
            } else if byte == b'"' {
                self.at += 1;
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
                self.at += 1;
            }
        }
    }

    /// Skips a byte order mark, which editors and shells of Windows write.
    ///
    /// # Errors
    /// [`StageError::Input`] for an incomplete one.
    pub fn skip_byte_order_mark(&mut self) -> Result<(), StageError> {
        let offset = self.offset();
        if offset != 0 || self.peek()? != Some(BYTE_ORDER_MARK[0]) {
            return Ok(());
        }
        for byte in BYTE_ORDER_MARK {
            if self.peek()? != Some(byte) {
                return Err(self.unexpected("the rest of a byte order mark (EF BB BF)"));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Reads to the end of the input, which should be here. Skips white space and NUL bytes, and a short text such as
    /// the last line of a terminal: returns a description of these.
    ///
    /// # Errors
    /// [`StageError::Input`] for anything longer, or the rest of a JSON text.
    pub fn behind(&mut self) -> Result<Option<String>, StageError> {
        let (mut zeros, mut text, mut begins) = (0u64, Vec::new(), 0);
        self.peek_token()?;
        let start = self.offset();
        let here = self.unexpected("the end of the input");
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
            self.at += 1;
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
}
/// Bytes that are looked at together.
const PLAIN: usize = 64;

/// Length of the beginning of `bytes` that opens and closes nothing, in whole pieces of [`PLAIN`].
fn plain(bytes: &[u8]) -> usize {
    // Braces are brackets with another bit. Without branches, so that the compiler makes vector instructions of it.
    let is_structure =
        |byte: u8| u8::from(byte == b'"') | u8::from(byte | 0x20 == b'{') | u8::from(byte | 0x20 == b'}');
    let is_plain = |piece: &&[u8]| piece.iter().fold(0, |any, &byte| any | is_structure(byte)) == 0;
    bytes.chunks_exact(PLAIN).take_while(is_plain).count() * PLAIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_pieces_open_and_close_nothing() {
        for (byte, is_plain) in (0..=255u8).map(|byte| (byte, !b"\"[]{}".contains(&byte))) {
            let mut bytes = vec![b'7'; 3 * PLAIN + 5];
            assert_eq!(plain(&bytes), 3 * PLAIN);
            for at in [0, PLAIN - 1, PLAIN, 2 * PLAIN + 9] {
                bytes[at] = byte;
                assert_eq!(plain(&bytes), if is_plain { 3 * PLAIN } else { at / PLAIN * PLAIN }, "{byte} at {at}");
                bytes[at] = b'7';
            }
        }
    }
}
