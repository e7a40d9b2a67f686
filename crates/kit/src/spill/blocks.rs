//! An unnamed file with a prefix in memory.

use crate::column::Growing;
use crate::fs::File;
use crate::{IoAt, Scratch, StageError};
use std::sync::{Arc, PoisonError, RwLock};

/// An append-only byte store with random reads, released as a whole.
pub(super) struct Blocks {
    memory: RwLock<Option<Growing>>,
    /// Bytes in memory; the rest is in the file.
    in_memory: u64,
    file: Option<Arc<File>>,
    length: u64,
    scratch: Scratch,
}

impl Blocks {
    pub(super) fn new(scratch: &Scratch) -> Self {
        let memory = scratch.residents().map(|residents| residents.grow(None));
        Self { memory: RwLock::new(memory), in_memory: 0, file: None, length: 0, scratch: scratch.clone() }
    }

    /// Appends a block; returns its position.
    pub(super) fn push(&mut self, block: &[u8]) -> Result<u64, StageError> {
        let at = self.length;
        let memory = self.memory.get_mut().unwrap_or_else(PoisonError::into_inner);
        if self.file.is_none() && memory.as_mut().is_some_and(|memory| memory.push(block)) {
            self.in_memory += block.len() as u64;
        } else {
            let file = match &self.file {
                Some(file) => file,
                None => self.file.insert(self.scratch.unnamed()?),
            };
            let written = file.write_all_at(block, at - self.in_memory);
            written.at(self.scratch.folder(), "write a file in")?;
        }
        self.length += block.len() as u64;
        Ok(at)
    }

    /// Calls `each` with the block of `bytes` bytes at a position. `buffer` is for blocks on disk.
    pub(super) fn with<R>(
        &self,
        at: u64,
        bytes: usize,
        buffer: &mut Vec<u8>,
        each: impl FnOnce(&[u8]) -> Result<R, StageError>,
    ) -> Result<R, StageError> {
        if at < self.in_memory {
            let memory = self.memory.read().unwrap_or_else(PoisonError::into_inner);
            let all = memory.as_ref().map_or(&[][..], Growing::bytes);
            return each(&all[at as usize..at as usize + bytes]);
        }
        buffer.resize(bytes, 0);
        if let Some(file) = &self.file {
            let read = file.read_exact_at(buffer, at - self.in_memory);
            read.at(self.scratch.folder(), "read a file in")?;
        }
        each(buffer)
    }

    /// Frees the disk space of blocks that are not read again. A failure is ignored.
    pub(super) fn free(&self, blocks: &[u64], bytes: usize) {
        let Some(file) = &self.file else { return };
        let on_disk = &blocks[blocks.partition_point(|&at| at < self.in_memory)..];
        for run in on_disk.chunk_by(|&a, &b| a + bytes as u64 == b) {
            let _ = file.free(run[0] - self.in_memory, (run.len() * bytes) as u64);
        }
    }

    /// Releases memory and disk space; a failure is ignored.
    pub(super) fn release(&self) {
        *self.memory.write().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(file) = &self.file {
            let _ = file.set_len(0);
        }
    }

    /// Bytes on disk.
    pub(super) fn in_file(&self) -> u64 {
        self.length - self.in_memory
    }
}
