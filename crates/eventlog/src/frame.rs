//! Frames: blocks of records, each compressed and checked by itself.
//!
//! A frame is a header of [`HEADER`] bytes and the stored content, one frame of zstd. All numbers of the header have 32
//! bits, little-endian: the mark [`MARK`], stored bytes, bytes of the content, records, CRC-32 of the stored content,
//! CRC-32 of the header so far. So a damaged length is not taken for a log that ends early.

use crate::Bad;
use crate::encode::Encoder;
use crate::header;
use crate::record::Records;
use std::io::{self, Write};

/// First bytes of a frame.
pub const MARK: [u8; 4] = *b"HLFR";

/// Bytes of the header of a frame.
pub const HEADER: usize = 24;

/// Most bytes of a frame, stored and decompressed.
pub const MOST: usize = 16 << 20;

/// Level of compression: the fastest regular one, since it takes time of the recorded machine.
const LEVEL: i32 = 1;

/// Header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Bytes of the stored content.
    pub stored: usize,
    /// Bytes of the content.
    pub plain: usize,
    /// Records in the content.
    pub records: u32,
    sum: u32,
}

impl FrameHeader {
    fn encode(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MARK);
        for (at, number) in [(4, self.stored as u32), (8, self.plain as u32), (12, self.records), (16, self.sum)] {
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes[..HEADER - 4]);
        bytes[HEADER - 4..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads a header; `offset` is its place in the log.
    ///
    /// # Errors
    /// If the mark, the checksum or a length is wrong.
    pub fn decode(bytes: &[u8; HEADER], offset: u64) -> Result<Self, Bad> {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if bytes[..4] != MARK {
            return Err(Bad::new(offset, "a frame of the event log (HLFR)", format!("{:?}", &bytes[..4])));
        }
        let (stated, found) = (number(HEADER - 4), crc32fast::hash(&bytes[..HEADER - 4]));
        if stated != found {
            let at = offset + HEADER as u64 - 4;
            return Err(Bad::new(at, format!("the checksum {stated:08x} of a frame's header"), format!("{found:08x}")));
        }
        let header =
            Self { stored: number(4) as usize, plain: number(8) as usize, records: number(12), sum: number(16) };
        if header.stored.max(header.plain) > MOST {
            let found = format!("{}", header.stored.max(header.plain));
            return Err(Bad::new(offset + 4, format!("a frame of at most {MOST} bytes"), found));
        }
        Ok(header)
    }
}

/// Decompresses the contents of frames.
pub struct Unpacker {
    zstd: zstd::bulk::Decompressor<'static>,
    plain: Vec<u8>,
}

impl Unpacker {
    /// Makes one.
    ///
    /// # Errors
    /// If zstd has no memory for its state.
    pub fn new() -> io::Result<Self> {
        Ok(Self { zstd: zstd::bulk::Decompressor::new()?, plain: Vec::new() })
    }

    /// Bytes of its buffer: those of the largest content so far.
    pub fn held(&self) -> usize {
        self.plain.capacity()
    }

    /// Returns the content of a frame; `offset` is the place of the frame in the log.
    ///
    /// # Errors
    /// If the checksum or the length differs, or the stored bytes are no frame of zstd.
    pub fn unpack(&mut self, header: FrameHeader, stored: &[u8], offset: u64) -> Result<Content<'_>, Bad> {
        let (at, sum) = (offset + HEADER as u64, crc32fast::hash(stored));
        if sum != header.sum {
            return Err(Bad::new(at, format!("the checksum {:08x} of a frame", header.sum), format!("{sum:08x}")));
        }
        self.plain.clear();
        self.plain.reserve_exact(header.plain);
        let length = self.zstd.decompress_to_buffer(stored, &mut self.plain);
        match length {
            Ok(length) if length == header.plain => Ok(Content { bytes: &self.plain, header, offset }),
            Ok(length) => Err(Bad::new(at, format!("{} bytes in a frame", header.plain), format!("{length}"))),
            Err(error) => Err(Bad::new(at, "the content of a frame", format!("{error} (zstd)"))),
        }
    }
}

/// The content of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Header of the frame.
    pub header: FrameHeader,
    /// Place of the frame in the log.
    pub offset: u64,
}

impl<'a> Content<'a> {
    /// Its records.
    pub fn records(&self) -> Records<'a> {
        Records::new(self.bytes)
    }
}

/// Writes a log.
pub struct FrameWriter<W> {
    to: W,
    zstd: zstd::bulk::Compressor<'static>,
    stored: Vec<u8>,
    written: u64,
}

impl<W: Write> FrameWriter<W> {
    /// Begins a log: writes its header.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(mut to: W, properties: &header::Header) -> io::Result<Self> {
        let header = properties.encode();
        to.write_all(&header)?;
        to.flush()?;
        let zstd = zstd::bulk::Compressor::new(LEVEL)?;
        Ok(Self { to, zstd, stored: Vec::new(), written: header.len() as u64 })
    }

    /// Writes records as one frame; nothing without records. Header and content are passed on in one write, and flushed.
    ///
    /// # Errors
    /// If writing fails, or the records have more than [`MOST`] bytes.
    pub fn write(&mut self, records: &Encoder) -> io::Result<()> {
        let plain = records.bytes();
        if plain.is_empty() {
            return Ok(());
        }
        let most = zstd::zstd_safe::compress_bound(plain.len());
        if most > MOST {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a frame of too many bytes"));
        }
        self.stored.resize(HEADER + most, 0);
        let length = self.zstd.compress_to_buffer(plain, &mut self.stored[HEADER..])?;
        self.stored.truncate(HEADER + length);
        let sum = crc32fast::hash(&self.stored[HEADER..]);
        let header = FrameHeader { stored: length, plain: plain.len(), records: records.count(), sum };
        self.stored[..HEADER].copy_from_slice(&header.encode());
        self.to.write_all(&self.stored)?;
        self.to.flush()?;
        self.written += self.stored.len() as u64;
        Ok(())
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Ends the log; returns its destination.
    pub fn into_inner(self) -> W {
        self.to
    }
}
