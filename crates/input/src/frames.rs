//! zstd files: a sequence of frames, including skippable ones.
//!
//! `pzstd`, the seekable format and appending make several frames; skippable ones, with data for other programs, may
//! occur anywhere. The window of a frame (`zstd --long`) is memory of the decoder: beyond [`FREE`], it is reserved in
//! the budget.
//!
//! Reference: RFC 8878, sections 3.1.1.1 and 3.1.2.

use crate::expansion::refused;
use crate::magic::ZSTD;
use heaplake_kit::{Budget, Reservation, StageError};
use std::io::{self, Read};
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

/// Window size without a reservation: that of level 19, bytes.
pub(crate) const FREE: u64 = 8 << 20;

/// Maximum window that the library decodes, as a power of two.
const MOST_WINDOW_LOG: u32 = 31;

/// Maximum bytes of a frame header.
const HEADER: usize = 18;

/// Decoder memory beside the window: a block before and after decoding, and slack for copies.
const BESIDE: u64 = 3 * (128 << 10);

/// Bytes per read.
const READ: usize = 128 << 10;

/// Returns the window size in a frame header, and the part of it that the content can fill; `None` if the decoder will
/// report the header.
fn window(header: &[u8]) -> Option<(u64, u64)> {
    let rest = header.strip_prefix(&ZSTD)?;
    let (&descriptor, rest) = rest.split_first()?;
    let is_single = descriptor & 0x20 != 0;
    let (window, rest) = match is_single {
        true => (None, rest),
        false => {
            let (&window, rest) = rest.split_first()?;
            let base = 1u64 << (10 + (window >> 3));
            (Some(base + base / 8 * u64::from(window & 7)), rest)
        }
    };
    let rest = rest.get([0, 1, 2, 4][usize::from(descriptor & 3)]..)?;
    let length = match descriptor >> 6 {
        0 => usize::from(is_single),
        flag => 1 << flag,
    };
    let field = rest.get(..length)?.iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    let content = match length {
        0 => u64::MAX,
        2 => field + 256,
        _ => field,
    };
    let window = window.unwrap_or(content);
    Some((window, window.min(content)))
}

/// Reader of the contents of all frames.
pub(crate) struct Frames<R> {
    file: R,
    decoder: Decoder<'static>,
    /// Bytes read ahead, and the number consumed by the decoder.
    ahead: Vec<u8>,
    at: usize,
    /// True inside a frame.
    is_open: bool,
    budget: Budget,
    /// Reservation for the largest window so far.
    reserved: Option<Reservation>,
}

impl<R: Read> Frames<R> {
    /// Creates a reader of a file; windows are reserved in the budget.
    pub(crate) fn new(file: R, budget: Budget) -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(MOST_WINDOW_LOG))?;
        Ok(Self { file, decoder, ahead: Vec::new(), at: 0, is_open: false, budget, reserved: None })
    }

    /// Returns the file; bytes read ahead are lost.
    pub(crate) fn into_inner(self) -> R {
        self.file
    }

    /// Reads until `wanted` bytes are buffered, or the file ends.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        while self.ahead.len() - self.at < wanted {
            self.ahead.drain(..self.at);
            self.at = 0;
            let before = self.ahead.len();
            self.ahead.resize(before + READ, 0);
            let read = self.file.read(&mut self.ahead[before..]);
            self.ahead.truncate(before + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Begins the next frame; false at the end.
    fn begin(&mut self) -> io::Result<bool> {
        self.fill(HEADER)?;
        let header = &self.ahead[self.at..];
        if header.is_empty() {
            return Ok(false);
        }
        if let Some((window, filled)) = window(header) {
            if window > 1 << MOST_WINDOW_LOG {
                let expected = format!("a zstd window of at most {} bytes", 1u64 << MOST_WINDOW_LOG);
                let hint = "compress it again, with zstd --long=31 or less";
                return Err(refused(expected, format!("one of {window}"), hint));
            }
            let had = self.reserved.as_ref().map_or(0, Reservation::bytes);
            let wanted = if filled > FREE { (filled + BESIDE).saturating_sub(had) } else { 0 };
            let (free, limit) = (self.budget.free(), self.budget.limit());
            if wanted > 0 && free < wanted + REST {
                let refused = StageError::Budget { who: WINDOW, wanted: wanted + REST, free, limit };
                return Err(io::Error::other(refused));
            }
            // The decoder reuses its memory for later frames.
            let grown = match &mut self.reserved {
                Some(reserved) => reserved.grow(wanted),
                None => self.budget.reserve(WINDOW, wanted).map(|reserved| self.reserved = Some(reserved)),
            };
            grown.map_err(io::Error::other)?;
        }
        self.decoder.reinit()?;
        self.is_open = true;
        Ok(true)
    }
}

/// Name of the reservation, for messages.
const WINDOW: &str = "the window of its zstd frame (zstd --long), with the least that the rest takes,";

/// Memory that must be free beside a window, bytes: the minimum of any reader.
const REST: u64 = 64 << 20;

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() && (self.is_open || self.begin()?) {
            self.fill(1)?;
            let (mut from, mut to) = (InBuffer::around(&self.ahead[self.at..]), OutBuffer::around(&mut *buffer));
            let is_end = self.ahead.len() == self.at;
            let hint = self.decoder.run(&mut from, &mut to)?;
            let (taken, given) = (from.pos(), to.pos());
            self.at += taken;
            self.is_open = hint != 0;
            if given > 0 {
                return Ok(given);
            }
            if is_end && self.is_open {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "incomplete frame"));
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::magic::is_zstd;
    use std::io::Write;
    use zstd::stream::raw::CParameter;

    const SKIPPABLE: &[u8] = b"\x5e\x2a\x4d\x18\x05\0\0\0hello";

    /// Compresses a frame; a window log of 0 is that of the level.
    fn frame(content: &[u8], window_log: u32) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.set_parameter(CParameter::WindowLog(window_log)).unwrap();
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn read(stored: &[u8], budget: u64) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        // A pipe returns short reads.
        let slow = stored.chunks(7).fold(Box::new(io::empty()) as Box<dyn Read>, |all, part| Box::new(all.chain(part)));
        let file: Box<dyn Read> = if stored.len() < 1000 { slow } else { Box::new(stored) };
        Frames::new(file, Budget::new(budget))?.read_to_end(&mut content).map(|_| content)
    }

    #[test]
    fn frames_of_all_kinds_are_one_content() {
        let (one, two, empty) = (frame(b"one ", 0), frame(b"two", 0), frame(b"", 0));
        let single = zstd::bulk::compress(b"two", 1).unwrap();
        for (stored, content) in [
            (vec![&one[..], &two], &b"one two"[..]),
            (vec![SKIPPABLE, &one, SKIPPABLE, SKIPPABLE, &two, SKIPPABLE], b"one two"),
            (vec![&empty, &one, &empty, &single, &empty], b"one two"),
            (vec![SKIPPABLE], b""),
            (vec![&empty], b""),
        ] {
            let stored = stored.concat();
            assert!(is_zstd(&stored));
            assert_eq!(read(&stored, 0).unwrap(), content);
            if !content.is_empty() {
                assert!(read(&stored[..stored.len() - 1], 0).is_err());
            }
        }
        assert!(read(&[&one[..], b"text and more"].concat(), 0).is_err());
        assert!(!is_zstd(b"\x60\x2a\x4d\x18") && !is_zstd(b"\x50\x2a") && !is_zstd(b""));
    }

    #[test]
    fn a_window_is_memory_of_the_budget() {
        // More than a block, so that the encoder cannot record the content size.
        let content = vec![7; 300 << 10];
        let stored = frame(&content, 27);
        assert_eq!(window(&stored), Some((1 << 27, 1 << 27)));
        let refused = read(&stored, 1 << 27).unwrap_err().to_string();
        assert!(refused.contains("the window of its zstd frame") && refused.contains("201719808 bytes"), "{refused}");
        assert!(read(&stored, 1 << 28).unwrap() == content);
        // Two of them take no more than one.
        assert_eq!(read(&[&stored[..], &stored].concat(), 200 << 20).unwrap().len(), 2 * content.len());
        assert!(read(&frame(&content, 23), 0).unwrap() == content);
    }

    #[test]
    fn windows_that_nobody_decodes_are_named() {
        let mut stored = frame(&[7; 300 << 10], 27);
        stored[5] = 22 << 3;
        let refused = read(&stored, u64::MAX).unwrap_err().to_string();
        assert!(refused.contains("at most 2147483648 bytes, found one of 4294967296"), "{refused}");
    }

    #[test]
    fn headers_say_how_large_windows_are() {
        let of = |rest: &[u8]| window(&[&ZSTD[..], rest].concat());
        assert_eq!(of(&[0, 1]), Some((1152, 1152)));
        assert_eq!(of(&[0x20, 9]), Some((9, 9)));
        assert_eq!(of(&[0x63, 1, 2, 3, 4, 1, 1]), Some((513, 513)));
        assert_eq!(of(&[0x80, 8 << 3, 7, 0, 0, 0]), Some((1 << 18, 7)));
        assert_eq!(of(&[0xe0, 0, 0, 0, 0, 1, 0, 0, 0]), Some((1 << 32, 1 << 32)));
        for short in [&[][..], &[0], &[0xe0, 0, 0]] {
            assert_eq!(of(short), None);
        }
    }
}
