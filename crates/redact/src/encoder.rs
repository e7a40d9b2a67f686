//! The compression of the output, by the ending of its name.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::path::Path;

/// Level of zstd: its default.
const LEVEL: i32 = 3;

/// A writer that compresses, or not.
pub enum Encoder<'a> {
    /// For any other name.
    Plain(&'a mut dyn Write),
    /// For `.gz`.
    Gzip(GzEncoder<&'a mut dyn Write>),
    /// For `.zst`.
    Zstd(zstd::Encoder<'static, &'a mut dyn Write>),
}

impl<'a> Encoder<'a> {
    /// Chooses by the ending of `path`.
    ///
    /// # Errors
    /// If zstd cannot allocate its memory.
    pub fn new(path: &Path, out: &'a mut dyn Write) -> io::Result<Self> {
        Ok(match path.extension().and_then(|ending| ending.to_str()) {
            Some("gz") => Self::Gzip(GzEncoder::new(out, Compression::default())),
            Some("zst") => {
                let mut encoder = zstd::Encoder::new(out, LEVEL)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
            _ => Self::Plain(out),
        })
    }

    /// Writes the end of the compressed data.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Gzip(encoder) => encoder.finish()?.flush(),
            Self::Zstd(encoder) => encoder.finish()?.flush(),
        }
    }
}

impl Write for Encoder<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}
