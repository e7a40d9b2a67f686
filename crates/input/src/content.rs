//! The content of an input, decompressed if necessary.

use crate::blocked::{self, Blocked, Inflaters};
use crate::frames::Frames;
use crate::gzip::Members;
use crate::magic::{is_gzip, is_zstd};
use crate::stored::{Hashing, Identity, fill};
use heaplake_kit::Budget;
use std::io::{self, Read};

type AsStored = io::Chain<io::Cursor<Vec<u8>>, Hashing>;

/// The decompressed content. The first bytes determine the compression, not the name.
pub(crate) enum Content {
    Plain(Box<AsStored>),
    Gzip(Box<Members<AsStored>>),
    Blocked(Box<Blocked<AsStored>>),
    Zstd(Box<Frames<AsStored>>),
}

impl Content {
    /// Opens the content of a reader; `pool` decides from its beginning about parallel inflation. zstd windows are
    /// reserved in the budget.
    pub(crate) fn new(
        reader: Box<dyn Read + Send>,
        pool: impl FnOnce(&[u8]) -> Option<Inflaters>,
        budget: Budget,
    ) -> io::Result<Self> {
        let mut reader = Hashing::new(reader, true);
        let mut magic = vec![0; blocked::PEEK];
        let (filled, end) = fill(&mut reader, &mut magic);
        end?;
        magic.truncate(filled);
        let (gzip, zstd) = (is_gzip(&magic), is_zstd(&magic));
        let pool = pool(&magic);
        let stored = io::Cursor::new(magic).chain(reader);
        Ok(if let Some(pool) = pool {
            Self::Blocked(Box::new(Blocked::new(stored, pool)))
        } else if gzip {
            Self::Gzip(Box::new(Members::new(stored)))
        } else if zstd {
            Self::Zstd(Box::new(Frames::new(stored, budget)?))
        } else {
            Self::Plain(Box::new(stored))
        })
    }

    /// Opens a content without decompression, hashed or not.
    pub(crate) fn raw(reader: Box<dyn Read + Send>, is_hashed: bool) -> Self {
        Self::Plain(Box::new(io::Cursor::new(Vec::new()).chain(Hashing::new(reader, is_hashed))))
    }

    /// True if the content is decompressed.
    pub(crate) fn is_compressed(&self) -> bool {
        !matches!(self, Self::Plain(_))
    }

    /// Returns the identity of the stored bytes, if hashed, including those unread by a decoder.
    pub(crate) fn finish(self) -> io::Result<Option<Identity>> {
        let stored = match self {
            Self::Plain(stored) => Some(*stored),
            Self::Gzip(members) => members.into_inner(),
            Self::Blocked(blocked) => blocked.into_inner(),
            Self::Zstd(frames) => Some(frames.into_inner()),
        };
        let mut stored = stored.ok_or_else(|| io::Error::other("the input is gone"))?;
        io::copy(&mut stored, &mut io::sink())?;
        Ok(stored.into_inner().1.identity())
    }
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stored) => stored.read(buffer),
            Self::Gzip(members) => members.read(buffer),
            Self::Blocked(blocked) => blocked.read(buffer),
            Self::Zstd(frames) => frames.read(buffer),
        }
    }
}
