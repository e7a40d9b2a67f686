//! Writes the file of a column front to back.

use super::packed::Packer;
use super::packing::Width;
use crate::IoAt;
use crate::StageError;
use crate::checksums::Checksum;
use crate::fs::File;
use std::io::{self, Write};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// A file being written from some position on.
pub(super) struct Target {
    file: File,
    packer: Option<Packer>,
    /// Hash of the appended bytes.
    hash: Xxh3,
    /// Former and current length of the file.
    first: u64,
    end: u64,
}

impl Target {
    /// Wraps a file of `first` bytes.
    pub(super) fn new(file: File, width: Option<Width>, first: u64) -> Self {
        Self { file, packer: width.map(Packer::new), hash: Xxh3::default(), first, end: first }
    }

    /// Creates a file that begins with the bytes `there`.
    pub(super) fn create(path: &Path, width: Option<Width>, there: &[u8]) -> Result<Self, StageError> {
        let mut file = File::create(path).at(path, "create")?;
        file.write_all(there).at(path, "write")?;
        Ok(Self::new(file, width, there.len() as u64))
    }

    /// Appends whole, aligned elements.
    pub(super) fn write(&mut self, elements: &[u8]) -> io::Result<()> {
        let Self { file, packer, hash, end, .. } = self;
        let mut write = |bytes: &[u8]| put(file, hash, end, bytes);
        match packer {
            Some(packer) => packer.push(elements, write),
            None => write(elements),
        }
    }

    /// Ends the file; returns the number of bytes written and their hash.
    ///
    /// # Errors
    /// [`StageError::Scratch`] when the file was truncated meanwhile.
    pub(super) fn finish(self, path: &Path) -> Result<(u64, Xxh3), StageError> {
        let Self { mut file, packer, mut hash, first, mut end } = self;
        if let Some(packer) = packer {
            let write = |bytes: &[u8]| put(&mut file, &mut hash, &mut end, bytes);
            packer.finish(write).at(path, "write")?;
        }
        let there = file.metadata().at(path, "examine")?.len();
        if there == end { Ok((end - first, hash)) } else { Err(StageError::cut_off(path, end, there)) }
    }
}

fn put(file: &mut File, hash: &mut Xxh3, end: &mut u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    hash.update(bytes);
    *end += bytes.len() as u64;
    Ok(())
}

/// Writes a column in memory to its file; returns the checksum.
pub(super) fn write_file(path: &Path, elements: &[u8], width: Option<Width>) -> Result<Checksum, StageError> {
    let mut target = Target::create(path, width, &[])?;
    target.write(elements).at(path, "write")?;
    let (bytes, hash) = target.finish(path)?;
    Ok(Checksum::default().and(bytes, &hash))
}
