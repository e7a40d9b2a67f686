//! Reading a log from its beginning to its last whole frame.

use crate::Bad;
use crate::frame::{Content, FrameHeader, HEADER, Unpacker};
use crate::header::{FIXED, Header};
use std::io::{self, ErrorKind, Read};

/// Failure of reading a log.
#[derive(Debug)]
pub enum Failure {
    /// The log is damaged.
    Bad(Bad),
    /// Reading failed.
    Read(io::Error),
}

impl From<Bad> for Failure {
    fn from(bad: Bad) -> Self {
        Self::Bad(bad)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bad(bad) => bad.fmt(to),
            Self::Read(error) => error.fmt(to),
        }
    }
}

impl std::error::Error for Failure {}

/// A log.
///
/// Memory: one frame as stored and one decompressed.
pub struct Log<R> {
    from: R,
    /// Properties of the recording.
    pub header: Header,
    offset: u64,
    stored: Vec<u8>,
    unpacker: Unpacker,
    left_out: Option<u64>,
}

impl<R: Read> Log<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// If it is damaged or cut off, or reading fails.
    pub fn open(mut from: R) -> Result<Self, Failure> {
        let mut fixed = [0; FIXED];
        let found = fill(&mut from, &mut fixed)?;
        if found < FIXED {
            return Err(Bad::new(found as u64, "the header of an event log", "the end of the log").into());
        }
        let mut bytes = fixed.to_vec();
        bytes.resize(FIXED + Header::rest(&fixed)?, 0);
        let found = FIXED + fill(&mut from, &mut bytes[FIXED..])?;
        if found < bytes.len() {
            return Err(Bad::new(found as u64, "the header of an event log", "the end of the log").into());
        }
        let header = Header::decode(&bytes)?;
        Ok(Self { from, header, offset: found as u64, stored: Vec::new(), unpacker: Unpacker::new()?, left_out: None })
    }

    /// Offset of an incomplete frame at the end, once it was reached.
    pub fn left_out(&self) -> Option<u64> {
        self.left_out
    }

    /// Reads the next frame; `None` after the last whole one.
    ///
    /// # Errors
    /// If a frame is damaged, or reading fails.
    pub fn frame(&mut self) -> Result<Option<Content<'_>>, Failure> {
        let offset = self.offset;
        let mut header = [0; HEADER];
        let found = fill(&mut self.from, &mut header)?;
        if found < HEADER {
            self.left_out = (found > 0).then_some(offset);
            return Ok(None);
        }
        let header = FrameHeader::decode(&header, offset)?;
        self.stored.resize(header.stored, 0);
        if fill(&mut self.from, &mut self.stored)? < header.stored {
            self.left_out = Some(offset);
            return Ok(None);
        }
        self.offset += (HEADER + header.stored) as u64;
        Ok(Some(self.unpacker.unpack(header, &self.stored, offset)?))
    }
}

/// Fills a buffer as far as there are bytes; returns their number.
fn fill(from: &mut impl Read, to: &mut [u8]) -> io::Result<usize> {
    let mut found = 0;
    while found < to.len() {
        match from.read(&mut to[found..]) {
            Ok(0) => break,
            Ok(more) => found += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
