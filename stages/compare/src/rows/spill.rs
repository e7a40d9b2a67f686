//! Records of fixed width on disk, in partitions that fit the budget.
//!
//! A record is some words of 64 bits; the first is its key, whose highest bits choose the partition. Threads append
//! whole batches; readers sort, so the order in which batches arrive does not matter.

use heaplake_kit::{Budget, Context, Reservation, StageError};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Bytes that a partition collects before it writes.
const BUFFER: usize = 64 << 10;
/// Most partitions.
const MOST: u64 = 256;

/// See the module.
pub struct Spill {
    folder: PathBuf,
    width: usize,
    /// A power of two.
    partitions: Vec<Mutex<Partition>>,
    _buffers: Reservation,
}

struct Partition {
    file: File,
    buffer: Vec<u64>,
    records: u64,
}

/// The records of a partition, in memory.
pub struct Loaded {
    words: Vec<u64>,
    width: usize,
    /// Numbers of the records, sorted by their first two words.
    order: Vec<u32>,
    _room: Reservation,
}

impl Spill {
    /// For about `records` records of `width` words, in as many partitions as make each fit a quarter of what is free.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn create(folder: &Path, width: usize, records: u64, context: &Context<'_>) -> Result<Self, StageError> {
        let bytes = records.saturating_mul(bytes_of(width));
        let wanted = bytes.div_ceil((context.budget.free() / 4).max(1)).max(1);
        let partitions = wanted.next_power_of_two().min(MOST);
        let buffers = context.budget.reserve("comparison: buffers", partitions * BUFFER as u64)?;
        let partition = |_| {
            let file =
                tempfile::tempfile_in(folder).map_err(|error| StageError::io(folder, "create a file in", error))?;
            Ok(Mutex::new(Partition { file, buffer: Vec::with_capacity(BUFFER / 8), records: 0 }))
        };
        let partitions = (0..partitions).map(partition).collect::<Result<_, StageError>>()?;
        Ok(Self { folder: folder.to_owned(), width, partitions, _buffers: buffers })
    }

    /// Number of partitions.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// Appends records, which lie one after the other, sorted by their keys.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn append(&self, records: &[u64]) -> Result<(), StageError> {
        let shift = 64 - self.partitions.len().trailing_zeros();
        let partition = |record: &[u64]| record[0].checked_shr(shift).unwrap_or(0) as usize;
        let mut rest = records;
        while let Some(first) = rest.get(..self.width) {
            let number = partition(first);
            let end = rest.chunks_exact(self.width).position(|record| partition(record) != number);
            let (run, others) = rest.split_at(end.map_or(rest.len(), |end| end * self.width));
            let mut partition = self.partitions[number].lock().unwrap_or_else(PoisonError::into_inner);
            partition.append(run, self.width).map_err(|error| StageError::io(&self.folder, "write to", error))?;
            rest = others;
        }
        Ok(())
    }

    /// Reads a partition, sorted by the first two words.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn load(&self, number: usize, budget: &Budget) -> Result<Loaded, StageError> {
        let mut partition = self.partitions[number].lock().unwrap_or_else(PoisonError::into_inner);
        let records = partition.records;
        let room = budget.reserve("comparison: rows of all runs", records * (bytes_of(self.width) + 28))?;
        let words = partition.load(self.width).map_err(|error| StageError::io(&self.folder, "read from", error))?;
        let keyed = words.chunks_exact(self.width).zip(0..).map(|(record, at)| (record[0], record[1], at));
        let mut keyed: Vec<(u64, u64, u32)> = keyed.collect();
        keyed.sort_unstable();
        let order = keyed.into_iter().map(|(.., at)| at).collect();
        Ok(Loaded { words, width: self.width, order, _room: room })
    }
}

fn bytes_of(width: usize) -> u64 {
    width as u64 * 8
}

impl Partition {
    fn append(&mut self, records: &[u64], width: usize) -> io::Result<()> {
        self.records += (records.len() / width) as u64;
        if self.buffer.len() + records.len() > BUFFER / 8 {
            self.file.write_all(bytemuck::cast_slice(&self.buffer))?;
            self.buffer.clear();
        }
        if records.len() > BUFFER / 8 {
            return self.file.write_all(bytemuck::cast_slice(records));
        }
        self.buffer.extend_from_slice(records);
        Ok(())
    }

    fn load(&mut self, width: usize) -> io::Result<Vec<u64>> {
        self.file.write_all(bytemuck::cast_slice(&self.buffer))?;
        self.buffer.clear();
        let mut words = vec![0; self.records as usize * width];
        self.file.rewind()?;
        self.file.read_exact(bytemuck::cast_slice_mut(&mut words))?;
        Ok(words)
    }
}

impl Loaded {
    /// The records with one key each, in order of the keys; the records of a key by their second word.
    pub fn groups(&self) -> impl Iterator<Item = Vec<&[u64]>> {
        let key = |at: u32| self.words[at as usize * self.width];
        self.order
            .chunk_by(move |&a, &b| key(a) == key(b))
            .map(|group| group.iter().map(|&at| self.record(at)).collect())
    }

    fn record(&self, at: u32) -> &[u64] {
        &self.words[at as usize * self.width..][..self.width]
    }
}
