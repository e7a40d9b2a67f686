//! A partition of the hash pass: hashes with their nodes, in a buffer that overflows to a file.

use crate::fs::{self, File};
use crate::{Scratch, StageError};
use bytemuck::{Pod, Zeroable};
use std::io::{Read, Seek, Write};
use std::path::PathBuf;

/// Entries of a buffer.
const BUFFER: usize = 4096;

/// Hash and node.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Entry {
    hash: [u32; 2],
    pub node: u32,
}

impl Entry {
    pub fn new(hash: u64, node: u32) -> Self {
        Self { hash: bytemuck::cast(hash), node }
    }

    pub fn hash(self) -> u64 {
        bytemuck::cast(self.hash)
    }
}

/// Entries in the order of insertion.
pub struct Partition {
    path: PathBuf,
    file: Option<File>,
    written: u64,
    buffer: Vec<Entry>,
}

impl Partition {
    /// Bytes of the buffer.
    pub const BUFFER_BYTES: usize = BUFFER * size_of::<Entry>();

    /// An empty partition; its number is part of its file name.
    pub fn new(scratch: &Scratch, number: usize) -> Self {
        let path = scratch.file(&format!("values.{number}"));
        Self { path, file: None, written: 0, buffer: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.written == 0 && self.buffer.is_empty()
    }

    /// Bytes in the file.
    pub fn spilled_bytes(&self) -> u64 {
        self.written * size_of::<Entry>() as u64
    }

    #[inline]
    pub fn push(&mut self, entry: Entry) -> Result<(), StageError> {
        self.buffer.push(entry);
        if self.buffer.len() == BUFFER { self.flush() } else { Ok(()) }
    }

    #[cold]
    fn flush(&mut self) -> Result<(), StageError> {
        if self.file.is_none() {
            let file = File::create_readable(&self.path);
            self.file = Some(file.map_err(|error| StageError::io(&self.path, "create", error))?);
        }
        if let Some(file) = &mut self.file {
            file.write_all(bytemuck::cast_slice(&self.buffer))
                .map_err(|error| StageError::io(&self.path, "write", error))?;
            self.written += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Passes all entries to `each` and removes the file.
    pub fn drain(mut self, mut each: impl FnMut(Entry) -> Result<(), StageError>) -> Result<(), StageError> {
        if let Some(file) = &mut self.file {
            file.rewind().map_err(|error| StageError::io(&self.path, "read", error))?;
            let mut block = vec![Entry::zeroed(); BUFFER];
            for _ in 0..self.written / BUFFER as u64 {
                file.read_exact(bytemuck::cast_slice_mut(&mut block))
                    .map_err(|error| StageError::io(&self.path, "read", error))?;
                block.iter().try_for_each(|&entry| each(entry))?;
            }
            // A file that cannot be removed only takes disk space; the whole folder is removed at the end.
            let _ = fs::remove_file(&self.path);
        }
        self.buffer.iter().try_for_each(|&entry| each(entry))
    }
}
