//! What an input contains: its bytes as stored, or decompressed.

use crate::blocked::{self, Blocked, Inflaters};
use crate::direct::{is_gzip, is_zstd};
use crate::stored::{Hashing, Identity, fill};
use std::io::{self, Read};

type AsStored = io::Chain<io::Cursor<Vec<u8>>, Hashing>;

/// The decompressed content. What compression there is, the first bytes tell, not the name.
pub enum Content {
    Plain(Box<AsStored>),
    Gzip(Box<flate2::read::MultiGzDecoder<AsStored>>),
    Blocked(Box<Blocked<AsStored>>),
    Zstd(Box<zstd::Decoder<'static, io::BufReader<AsStored>>>),
}

impl Content {
    /// Of what is read; `pool` tells from its beginning whether several threads inflate it.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn new(reader: Box<dyn Read + Send>, pool: impl FnOnce(&[u8]) -> Option<Inflaters>) -> io::Result<Self> {
        let mut reader = Hashing::new(reader);
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
            Self::Gzip(Box::new(flate2::read::MultiGzDecoder::new(stored)))
        } else if zstd {
            Self::Zstd(Box::new(zstd::Decoder::new(stored)?))
        } else {
            Self::Plain(Box::new(stored))
        })
    }

    /// Of what is not decompressed, whatever it is.
    ///
    /// # Errors
    /// None.
    pub fn raw(reader: Box<dyn Read + Send>) -> io::Result<Self> {
        let nothing = io::Cursor::new(Vec::new());
        Ok(Self::Plain(Box::new(nothing.chain(Hashing::new(reader)))))
    }

    /// Whether it is another one than what is stored.
    pub fn is_compressed(&self) -> bool {
        !matches!(self, Self::Plain(_))
    }

    /// The identity of what was stored; what a decoder left unread counts too.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn finish(self) -> io::Result<Identity> {
        let mut stored = match self {
            Self::Plain(stored) => *stored,
            Self::Gzip(decoder) => decoder.into_inner(),
            Self::Blocked(blocked) => blocked.into_inner().ok_or_else(|| io::Error::other("the input is gone"))?,
            Self::Zstd(decoder) => decoder.finish().into_inner(),
        };
        io::copy(&mut stored, &mut io::sink())?;
        Ok(stored.into_inner().1.identity())
    }
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stored) => stored.read(buffer),
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Blocked(blocked) => blocked.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
        }
    }
}
