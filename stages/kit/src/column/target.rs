//! The file of a column, to be written front to back.

use super::packed::Packer;
use super::packing::Width;
use crate::StageError;
use crate::fs::File;
use crate::sums::Sum;
use std::io::{self, Write};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// A file that is written from some place on.
pub struct Target {
    file: File,
    packer: Option<Packer>,
    /// Of what was written, without what was there before.
    hash: Xxh3,
    /// Bytes of the file that were there before, and those that are there now.
    first: u64,
    end: u64,
}

impl Target {
    /// A file that has so many bytes.
    pub fn new(file: File, width: Option<Width>, first: u64) -> Self {
        Self { file, packer: width.map(Packer::new), hash: Xxh3::default(), first, end: first }
    }

    /// A new file that begins with what was there before.
    pub fn create(path: &Path, width: Option<Width>, there: &[u8]) -> Result<Self, StageError> {
        let mut file = File::create(path).map_err(|error| StageError::io(path, "create", error))?;
        file.write_all(there).map_err(|error| StageError::io(path, "write", error))?;
        Ok(Self::new(file, width, there.len() as u64))
    }

    /// Appends the bytes of whole elements, aligned as those.
    pub fn write(&mut self, elements: &[u8]) -> io::Result<()> {
        let Self { file, packer, hash, end, .. } = self;
        let mut write = |bytes: &[u8]| put(file, hash, end, bytes);
        match packer {
            Some(packer) => packer.push(elements, write),
            None => write(elements),
        }
    }

    /// Ends the file; returns how many bytes were written, and their hash.
    ///
    /// # Errors
    /// [`StageError::Io`], or [`StageError::Scratch`] when the file does not hold what was written.
    pub fn finish(self, path: &Path) -> Result<(u64, Xxh3), StageError> {
        let Self { mut file, packer, mut hash, first, mut end } = self;
        if let Some(packer) = packer {
            let write = |bytes: &[u8]| put(&mut file, &mut hash, &mut end, bytes);
            packer.finish(write).map_err(|error| StageError::io(path, "write", error))?;
        }
        let there = file.metadata().map_err(|error| StageError::io(path, "examine", error))?.len();
        if there == end { Ok((end - first, hash)) } else { Err(StageError::cut_off(path, end, there)) }
    }
}

fn put(file: &mut File, hash: &mut Xxh3, end: &mut u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    hash.update(bytes);
    *end += bytes.len() as u64;
    Ok(())
}

/// Writes a column in memory to its file, and tells what that holds.
///
/// # Errors
/// As [`Target::finish`].
pub fn write_file(path: &Path, elements: &[u8], width: Option<Width>) -> Result<Sum, StageError> {
    let mut target = Target::create(path, width, &[])?;
    target.write(elements).map_err(|error| StageError::io(path, "write", error))?;
    let (bytes, hash) = target.finish(path)?;
    Ok(Sum::default().and(bytes, &hash))
}
