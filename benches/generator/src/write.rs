//! A buffered writer with fast decimal output: the file is mostly numbers.

use std::io::{self, Write};

const FLUSH_AT: usize = 1 << 20;

/// Every two-digit number, so that one division yields two digits.
const PAIRS: [u8; 200] = {
    let mut table = [0; 200];
    let mut i = 0;
    while i < 100 {
        table[2 * i] = b'0' + (i / 10) as u8;
        table[2 * i + 1] = b'0' + (i % 10) as u8;
        i += 1;
    }
    table
};

/// Collects bytes and writes them in big pieces.
///
/// The first error is kept and returned by [`Out::finish`] (and by [`Out::check`] once per block), which keeps the
/// inner loops free of error paths; after an error nothing more is written.
pub(crate) struct Out<W: Write> {
    inner: W,
    buffer: Vec<u8>,
    written: u64,
    error: Option<io::Error>,
}

impl<W: Write> Out<W> {
    /// Wraps a writer that needs no buffer of its own.
    pub(crate) fn new(inner: W) -> Self {
        let buffer = Vec::with_capacity(FLUSH_AT + (64 << 10));
        Self { inner, buffer, written: 0, error: None }
    }

    /// Adds bytes as they are.
    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= FLUSH_AT {
            self.flush();
        }
    }

    /// Adds a comma and a number, the usual step of a row.
    #[inline]
    pub(crate) fn comma_number(&mut self, number: u64) {
        let mut digits = [0; 21];
        let start = format(number, &mut digits) - 1;
        digits[start] = b',';
        self.buffer.extend_from_slice(&digits[start..]);
    }

    #[inline]
    pub(crate) fn number(&mut self, number: u64) {
        let mut digits = [0; 21];
        let start = format(number, &mut digits);
        self.buffer.extend_from_slice(&digits[start..]);
    }

    pub(crate) fn written(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Fails if an earlier write failed.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Writes the rest; returns the total number of bytes written.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        self.flush();
        self.check()?;
        self.inner.flush()?;
        Ok(self.written)
    }

    #[cold]
    fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.inner.write_all(&self.buffer).err();
        }
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
    }
}

/// Writes the number's digits to the end of the array; returns their start.
#[inline]
fn format(mut number: u64, digits: &mut [u8; 21]) -> usize {
    let mut at = digits.len();
    while number >= 100 {
        let pair = (number % 100) as usize * 2;
        number /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if number >= 10 {
        let pair = number as usize * 2;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        digits[at] = b'0' + number as u8;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        for number in [0, 9, 10, 99, 100, 12_345, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            let mut out = Out::new(&mut bytes);
            out.number(number);
            out.comma_number(number);
            assert_eq!(out.finish().unwrap(), bytes.len() as u64);
            assert_eq!(String::from_utf8(bytes).unwrap(), format!("{number},{number}"));
        }
    }
}
