//! Removes lone surrogates from generated snapshots.
//!
//! The generator plants strings with half a surrogate pair, which JavaScript allows. heaplake reads them, but the crate
//! v8-heap-parser refuses such a file. So that all programs can read the measured files, the escape's backslash becomes
//! another character. Lengths, sizes and hence all planted answers stay.

use std::io::{self, Write};

const LONE: &[u8] = b"\\ud800";

/// A writer that replaces lone surrogates.
pub(crate) struct WellFormed<W> {
    inner: W,
    /// Possibly the beginning of an escape that the next write completes.
    held: Vec<u8>,
}

impl<W: Write> WellFormed<W> {
    /// Wraps a writer; buffers nothing.
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, held: Vec::new() }
    }

    /// Writes the rest.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.inner.write_all(&self.held)?;
        self.inner.flush()
    }
}

impl<W: Write> Write for WellFormed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(at) = memchr::memmem::find(&self.held[from..], LONE) {
            self.held[from + at] = b'_';
            from += at + LONE.len();
        }
        let safe = self.held.len().saturating_sub(LONE.len() - 1);
        self.inner.write_all(&self.held[..safe])?;
        self.held.drain(..safe);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_found_however_the_text_is_cut() {
        let text = br#"["lone \ud800 half","\ud83d\ude00 pair","\ud800\ud800"]"#;
        for piece in 1..text.len() {
            let mut out = Vec::new();
            let mut writer = WellFormed::new(&mut out);
            text.chunks(piece).for_each(|piece| writer.write_all(piece).unwrap());
            writer.finish().unwrap();
            assert_eq!(out, br#"["lone _ud800 half","\ud83d\ude00 pair","_ud800_ud800"]"#);
        }
    }
}
