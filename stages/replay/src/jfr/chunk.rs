//! A chunk of a recording: its header, and its bytes in memory or in a file.
//!
//! The metadata and constants of a chunk come after its events, so a chunk is read whole before it is parsed. Small
//! ones are kept in memory, large ones in scratch, to be read through a [`Window`].

use heaplake_input::bytes::Bytes;
use heaplake_kit::fs::File;
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, Scratch, StageError};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

/// Magic of a chunk.
pub(crate) const MAGIC: &[u8] = b"FLR\0";

/// Bytes of the header.
pub(crate) const HEADER: usize = 68;

/// Supported versions of the format: 2 since JDK 11, and 1 of JDK 9, with the same layout and other class names.
const MAJOR: RangeInclusive<u16> = 1..=2;

/// Largest chunk kept in memory, bytes; less with a small budget.
const LARGEST: u64 = 32 << 20;

/// A chunk in memory takes at most the budget divided by this.
const PART: u64 = 32;

/// Bytes per read.
const PIECE: usize = 256 << 10;

/// A violation of the format: its place in the chunk, the expected and the actual contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bad {
    /// Offset in the chunk.
    pub at: u64,
    /// Expected contents.
    pub expected: &'static str,
    /// Actual contents.
    pub found: String,
}

/// Why reading a chunk stops.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The chunk is damaged.
    Bad(Bad),
    /// Any other error.
    Stage(StageError),
}

impl From<Bad> for Failure {
    fn from(bad: Bad) -> Self {
        Self::Bad(bad)
    }
}

impl From<StageError> for Failure {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

/// A violation of the format at an offset.
pub(crate) fn bad(at: u64, expected: &'static str, found: impl Into<String>) -> Bad {
    Bad { at, expected, found: found.into() }
}

/// Header of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Version of the format.
    pub version: (u16, u16),
    /// Bytes, header included; 0 while it is being written.
    pub size: u64,
    /// Offset of the last checkpoint event.
    pub constants: u64,
    /// Offset of the metadata event.
    pub metadata: u64,
    /// Nanoseconds since 1970 at `start_ticks`.
    pub start_nanos: i64,
    /// Tick of its start.
    pub start_ticks: i64,
    /// Ticks per second.
    pub frequency: i64,
    /// Whether integers are compressed.
    pub compressed: bool,
    /// Whether it is the last chunk of the process.
    pub last: bool,
}

impl Header {
    /// Parses the header.
    pub(crate) fn read(bytes: &[u8; HEADER]) -> Result<Self, Bad> {
        let number = |at: usize| bytes[at..at + 8].iter().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
        let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let version = (half(4), half(6));
        if !bytes.starts_with(MAGIC) {
            return Err(bad(0, "the magic of a chunk (FLR)", format!("{:02x?}", &bytes[..4])));
        }
        if !MAJOR.contains(&version.0) {
            return Err(bad(4, "a recording of version 1 or 2", format!("version {}.{}", version.0, version.1)));
        }
        let header = Self {
            version,
            size: number(8),
            constants: number(16),
            metadata: number(24),
            start_nanos: number(32) as i64,
            start_ticks: number(48) as i64,
            frequency: number(56) as i64,
            compressed: bytes[67] & 1 == 1,
            last: bytes[67] & 2 == 2,
        };
        header.check().map(|()| header)
    }

    /// Whether the chunk was finished, or flushed while it grew.
    pub(crate) fn is_written(&self) -> bool {
        self.size > 0 && self.metadata > 0
    }

    fn check(&self) -> Result<(), Bad> {
        if !self.is_written() {
            return Ok(());
        }
        let inside = |at: u64| at >= HEADER as u64 && at < self.size;
        if self.size <= HEADER as u64 || self.size > i64::MAX as u64 {
            return Err(bad(8, "the size of a chunk", format!("{} bytes", self.size)));
        }
        if self.constants != 0 && !inside(self.constants) {
            return Err(bad(16, "a place of constants inside the chunk", format!("{}", self.constants)));
        }
        if !inside(self.metadata) {
            return Err(bad(24, "a place of metadata inside the chunk", format!("{}", self.metadata)));
        }
        if self.frequency <= 0 {
            return Err(bad(56, "ticks of a second", format!("{}", self.frequency)));
        }
        Ok(())
    }

    /// Time of a tick, nanoseconds since 1970.
    pub(crate) fn nanos(&self, ticks: i64) -> i64 {
        self.start_nanos.saturating_add(self.span(ticks.saturating_sub(self.start_ticks)))
    }

    /// Duration of ticks, nanoseconds.
    pub(crate) fn span(&self, ticks: i64) -> i64 {
        let nanos = i128::from(ticks) * 1_000_000_000 / i128::from(self.frequency.max(1));
        i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
    }
}

/// The bytes of a chunk.
pub(crate) struct Chunk {
    /// Its header.
    pub header: Header,
    /// Offset of the chunk in the content.
    pub base: u64,
    store: Store,
}

enum Store {
    Memory { bytes: Vec<u8>, _account: MemoryAccount },
    File(Arc<File>, PathBuf),
}

impl Chunk {
    /// Reads the chunk after its header. The inner error is the number of bytes present, if the content ends inside the
    /// chunk.
    pub(crate) fn read(
        bytes: &mut Bytes<'_>,
        beginning: &[u8; HEADER],
        header: Header,
        (scratch, budget): (&Scratch, &Budget),
    ) -> Result<Result<Self, u64>, StageError> {
        let base = bytes.offset() - HEADER as u64;
        let mut account = MemoryAccount::new(budget, "a chunk of the recording")?;
        let resident = header.size <= LARGEST.min(budget.limit() / PART);
        let file = if resident { None } else { Some(scratch.unnamed()?) };
        let (mut held, mut there) = (Vec::new(), 0);
        account.make_room(&mut held, HEADER)?;
        held.extend_from_slice(beginning);
        while there + (held.len() as u64) < header.size {
            let left = header.size - there - held.len() as u64;
            let piece = PIECE.min(usize::try_from(left).unwrap_or(PIECE));
            account.make_room(&mut held, piece)?;
            let found = bytes.append_to(&mut held, piece)?;
            bytes.check()?;
            if found < piece {
                return Ok(Err(there + held.len() as u64));
            }
            if let Some(file) = &file {
                write(scratch, file, &mut held, &mut there)?;
            }
        }
        let store = match file {
            None => Store::Memory { bytes: held, _account: account },
            Some(file) => {
                write(scratch, &file, &mut held, &mut there)?;
                Store::File(file, scratch.folder().to_owned())
            }
        };
        Ok(Ok(Self { header, base, store }))
    }

    /// Size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.header.size
    }
}

/// Appends the held bytes to a file.
fn write(scratch: &Scratch, file: &File, held: &mut Vec<u8>, there: &mut u64) -> Result<(), StageError> {
    file.write_all_at(held, *there).map_err(|error| StageError::io(scratch.folder(), "write to a file in", error))?;
    *there += held.len() as u64;
    held.clear();
    Ok(())
}

/// A buffered part of a chunk.
pub(crate) struct Window {
    held: Vec<u8>,
    start: u64,
    account: MemoryAccount,
}

impl Window {
    /// Returns an empty window.
    pub(crate) fn new(budget: &Budget) -> Result<Self, StageError> {
        let account = MemoryAccount::new(budget, "an event of the recording")?;
        Ok(Self { held: Vec::new(), start: 0, account })
    }

    /// Returns bytes of a chunk, which must be inside.
    pub(crate) fn view<'a>(&'a mut self, chunk: &'a Chunk, at: u64, length: u64) -> Result<&'a [u8], Failure> {
        let end = at.checked_add(length).filter(|&end| end <= chunk.size());
        let Some(end) = end else {
            return Err(bad(at, "an event inside the chunk", format!("{length} bytes")).into());
        };
        let (file, path) = match &chunk.store {
            Store::Memory { bytes, .. } => return Ok(&bytes[at as usize..end as usize]),
            Store::File(file, path) => (file, path),
        };
        if at < self.start || end > self.start + self.held.len() as u64 {
            let wanted = length.max(PIECE as u64).min(chunk.size() - at) as usize;
            self.held.clear();
            self.account.make_room(&mut self.held, wanted)?;
            self.held.resize(wanted, 0);
            let read = file.read_exact_at(&mut self.held, at);
            read.map_err(|error| StageError::io(path, "read a file in", error))?;
            self.start = at;
        }
        Ok(&self.held[(at - self.start) as usize..(end - self.start) as usize])
    }
}
