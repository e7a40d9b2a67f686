//! A partition of the hash pass: hashes and nodes in a buffer that spills to a file.

use crate::fs::File;
use crate::{Scratch, StageError};
use bytemuck::{Pod, Zeroable};
use std::sync::Arc;

/// Entries per buffer.
const BUFFER: usize = 4096;

/// Hash and node.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Entry {
    hash: [u32; 2],
    pub node: u32,
}

impl Entry {
    pub(super) fn new(hash: u64, node: u32) -> Self {
        Self { hash: bytemuck::cast(hash), node }
    }

    pub(super) fn hash(self) -> u64 {
        bytemuck::cast(self.hash)
    }
}

/// Entries in insertion order.
pub(super) struct Partition {
    scratch: Scratch,
    file: Option<Arc<File>>,
    written: u64,
    buffer: Vec<Entry>,
}

impl Partition {
    /// Bytes of the buffer.
    pub(super) const BUFFER_BYTES: usize = BUFFER * size_of::<Entry>();

    pub(super) fn new(scratch: &Scratch) -> Self {
        Self { scratch: scratch.clone(), file: None, written: 0, buffer: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.written == 0 && self.buffer.is_empty()
    }

    /// Bytes in the file.
    pub(super) fn spilled_bytes(&self) -> u64 {
        self.written * size_of::<Entry>() as u64
    }

    #[inline]
    pub(super) fn push(&mut self, entry: Entry) -> Result<(), StageError> {
        self.buffer.push(entry);
        if self.buffer.len() == BUFFER { self.flush() } else { Ok(()) }
    }

    #[cold]
    fn flush(&mut self) -> Result<(), StageError> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.scratch.unnamed()?),
        };
        file.write_all_at(bytemuck::cast_slice(&self.buffer), self.written * size_of::<Entry>() as u64)
            .map_err(|error| StageError::io(self.scratch.folder(), "write a file in", error))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Passes all entries to `each`.
    pub(super) fn each(&self, mut each: impl FnMut(Entry) -> Result<(), StageError>) -> Result<(), StageError> {
        if let Some(file) = &self.file {
            let mut block = vec![Entry::zeroed(); BUFFER];
            for number in 0..self.written / BUFFER as u64 {
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut block);
                let offset = number * bytes.len() as u64;
                file.read_exact_at(bytes, offset)
                    .map_err(|error| StageError::io(self.scratch.folder(), "read a file in", error))?;
                block.iter().try_for_each(|&entry| each(entry))?;
            }
        }
        self.buffer.iter().try_for_each(|&entry| each(entry))
    }
}
