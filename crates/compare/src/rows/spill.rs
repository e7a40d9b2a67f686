//! Spills fixed-width records to disk, in partitions that fit the budget.
//!
//! The highest bits of a [record's](super::record) key choose the partition. Threads append whole batches; readers sort,
//! so batches may arrive in any order. Files store [encoded](super::codec) records.

use super::codec;
use super::kept::Records;
use super::record::Record;
use heaplake_kit::threads::locked;
use heaplake_kit::{Context, Reservation, StageError};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Bytes buffered per partition before a write.
const BUFFER: usize = 64 << 10;
/// Maximum number of partitions.
const MOST: u64 = 256;
/// Bytes per record for the sort order.
const ORDER: u64 = 16;

/// Name of the memory grant.
const GRANT: &str = "comparison: rows of all runs";

/// Records on disk, by partition.
pub(super) struct Spill {
    /// Folder of its files.
    pub folder: PathBuf,
    width: usize,
    /// Their number is a power of two.
    partitions: Vec<Mutex<Partition>>,
    /// Free list of buffers: the first touch of new memory costs about as much as reading the file.
    spare: Mutex<Vec<Memory>>,
    _buffers: Reservation,
}

struct Partition {
    file: File,
    buffer: Vec<u8>,
    records: u64,
}

/// Records of a partition, in memory.
pub(super) struct Loaded<'a> {
    memory: Memory,
    spill: &'a Spill,
}

/// Memory for the records of a partition.
struct Memory {
    words: Vec<u64>,
    /// Key, then run and record index, sorted. Keys are copied here because the records are in run order; finding group
    /// ends does not touch them.
    order: Vec<(u64, u64)>,
    grant: Reservation,
}

impl Spill {
    /// Creates a spill for about `records` records of `width` words. A partition with its sort order fits a fifth of
    /// the free budget, so that two fit in memory at a time.
    pub(super) fn create(folder: &Path, width: usize, records: u64, context: &Context<'_>) -> Result<Self, StageError> {
        let bytes = records.saturating_mul(bytes_of(width) + ORDER);
        let wanted = bytes.div_ceil((context.budget.free() / 5).max(1)).max(1);
        let partitions = wanted.next_power_of_two().min(MOST);
        // A buffer is written once it reaches `BUFFER`; the last record may exceed that.
        let buffer = BUFFER + codec::most_bytes(width);
        let buffers = context.budget.reserve("comparison: buffers", partitions * buffer as u64)?;
        let partition = |_| {
            let file =
                tempfile::tempfile_in(folder).map_err(|error| StageError::io(folder, "create a file in", error))?;
            Ok(Mutex::new(Partition { file, buffer: Vec::with_capacity(buffer), records: 0 }))
        };
        let partitions = (0..partitions).map(partition).collect::<Result<_, StageError>>()?;
        Ok(Self { folder: folder.to_owned(), width, partitions, spare: Mutex::default(), _buffers: buffers })
    }

    /// Number of partitions.
    pub(super) fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// Appends records, concatenated and sorted by key.
    pub(super) fn append(&self, records: &[u64]) -> Result<(), StageError> {
        let shift = 64 - self.partitions.len().trailing_zeros();
        let partition = |record: &[u64]| Record::of(record).head.key.checked_shr(shift).unwrap_or(0) as usize;
        let mut rest = records;
        while let Some(first) = rest.get(..self.width) {
            let number = partition(first);
            let end = rest.chunks_exact(self.width).position(|record| partition(record) != number);
            let (run, others) = rest.split_at(end.map_or(rest.len(), |end| end * self.width));
            let mut partition = locked(&self.partitions[number]);
            partition.append(run, self.width).map_err(|error| StageError::io(&self.folder, "write to", error))?;
            rest = others;
        }
        Ok(())
    }

    /// Loads a partition, merged with the next records of `kept` in its key range, sorted by the first two words.
    pub(super) fn load(
        &self,
        number: usize,
        kept: Option<&mut Records<'_>>,
        context: &Context<'_>,
    ) -> Result<Loaded<'_>, StageError> {
        let mut partition = locked(&self.partitions[number]);
        let mut memory = self.memory(partition.records, context)?;
        let read = partition.load(self.width, &mut memory.words);
        read.map_err(|error| StageError::io(&self.folder, "read from", error))?;
        if let Some(kept) = kept {
            kept.below(self.end(number), |more| {
                context.check()?;
                let needed = memory.words.len() + more.len();
                if needed > memory.words.capacity() {
                    // Grow by a quarter, so that few batches move the records.
                    let records = needed.max(memory.words.len() / 4 * 5).div_ceil(self.width);
                    memory.grow(records as u64, self.width)?;
                }
                memory.words.extend_from_slice(more);
                Ok(())
            })?;
        }
        let Memory { words, order, .. } = &mut memory;
        // A run has one record per key.
        let keyed = |(Record { head, .. }, at): (Record<'_>, u64)| (head.key, u64::from(head.run) << 32 | at);
        order.extend(Record::all(words, self.width).zip(0..).map(keyed));
        order.sort_unstable();
        Ok(Loaded { memory, spill: self })
    }

    /// Frees the free list.
    pub(super) fn release(&self) {
        locked(&self.spare).clear();
    }

    /// Takes a buffer from the free list, or creates one, with capacity for `records`.
    fn memory(&self, records: u64, context: &Context<'_>) -> Result<Memory, StageError> {
        let spare = locked(&self.spare).pop();
        let mut memory = match spare {
            Some(spare) => spare,
            None => {
                let grant = context.budget.reserve(GRANT, 0)?;
                Memory { words: Vec::new(), order: Vec::new(), grant }
            }
        };
        memory.words.clear();
        memory.order.clear();
        memory.grow(records, self.width)?;
        Ok(memory)
    }

    /// First key after a partition; `None` after the last one.
    fn end(&self, number: usize) -> Option<u64> {
        let next = number as u64 + 1;
        (next < self.partitions.len() as u64).then(|| next << (64 - self.partitions.len().trailing_zeros()))
    }
}

fn bytes_of(width: usize) -> u64 {
    width as u64 * 8
}

impl Memory {
    /// Grows the capacity to `records`.
    fn grow(&mut self, records: u64, width: usize) -> Result<(), StageError> {
        let bytes = records * (bytes_of(width) + ORDER);
        self.grant.grow(bytes.saturating_sub(self.grant.bytes()))?;
        let records = records as usize;
        self.words.reserve_exact((records * width).saturating_sub(self.words.len()));
        self.order.reserve_exact(records.saturating_sub(self.order.len()));
        Ok(())
    }
}

impl Partition {
    fn append(&mut self, records: &[u64], width: usize) -> io::Result<()> {
        for record in Record::all(records, width) {
            codec::encode(record, &mut self.buffer);
            if self.buffer.len() >= BUFFER {
                self.file.write_all(&self.buffer)?;
                self.buffer.clear();
            }
        }
        self.records += (records.len() / width) as u64;
        Ok(())
    }

    fn load(&mut self, width: usize, words: &mut Vec<u64>) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        self.file.rewind()?;
        codec::decode(&self.file, width, self.records, words)
    }
}

impl Loaded<'_> {
    /// Groups of records with equal keys, by key; within a group by run.
    pub(super) fn groups(&self) -> impl Iterator<Item = Vec<Record<'_>>> {
        let groups = self.memory.order.chunk_by(|(a, _), (b, _)| a == b);
        groups.map(|group| group.iter().map(|&(_, at)| self.record(at as u32)).collect())
    }

    /// Number of groups.
    pub(super) fn group_count(&self) -> usize {
        self.memory.order.chunk_by(|(a, _), (b, _)| a == b).count()
    }

    fn record(&self, at: u32) -> Record<'_> {
        Record::of(&self.memory.words[at as usize * self.spill.width..][..self.spill.width])
    }
}

impl Drop for Loaded<'_> {
    fn drop(&mut self) {
        let Memory { words, order, grant } = &mut self.memory;
        let memory =
            Memory { words: std::mem::take(words), order: std::mem::take(order), grant: grant.split(GRANT, u64::MAX) };
        locked(&self.spill.spare).push(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::kept::{Kept, Writer};
    use crate::rows::record::{HEAD, head_mut};
    use heaplake_kit::Budget;
    use heaplake_kit::stage::{Output, Silent};
    use heaplake_schemas::diff::OWNERS;
    use heaplake_schemas::rollup;
    use rustc_hash::FxHashMap;
    use std::sync::atomic::AtomicBool;

    const WIDTH: usize = HEAD + OWNERS.measures.len();

    fn context(cancel: &AtomicBool) -> Context<'_> {
        Context { budget: Budget::new(4 << 20), threads: 1, progress: &Silent, cancel }
    }

    /// Ascending keys over all partitions, each in runs 0 to 2.
    fn rows() -> Vec<(u64, u32)> {
        let mut keys: Vec<u64> = (1..8000_u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        keys.sort_unstable();
        keys.into_iter().flat_map(|key| (0..3).map(move |run| (key, run))).collect()
    }

    /// A file of such rows; measures are derived from key and run.
    fn written(folder: &Path, rows: &[(u64, u32)]) -> PathBuf {
        let output = Output { folder: folder.to_owned(), ..Output::default() };
        let mut writer = Writer::create(&output, &rollup::OWNERS).unwrap();
        for &(key, run) in rows {
            let measure = |at: usize| (at != 1).then_some((key >> 40) as i64 + i64::from(run));
            let measures: Vec<Option<i64>> = (0..OWNERS.measures.len()).map(measure).collect();
            writer.row(key, run, &measures).unwrap();
        }
        folder.join(writer.finish().unwrap().file)
    }

    /// A spill of these records, sized for all rows.
    fn spill(folder: &Path, records: &[&[Vec<u64>]], context: &Context<'_>) -> Spill {
        let spill = Spill::create(folder, WIDTH, rows().len() as u64, context).unwrap();
        records.iter().for_each(|records| spill.append(&records.concat()).unwrap());
        spill
    }

    /// Records of all partitions.
    fn loaded(spill: &Spill, kept: Option<&Kept<'_>>, context: &Context<'_>) -> Result<Vec<Vec<u64>>, StageError> {
        let mut kept = kept.map(|kept| kept.records(&OWNERS)).transpose()?;
        let mut all = Vec::new();
        for number in 0..spill.partitions() {
            let loaded = spill.load(number, kept.as_mut(), context)?;
            all.extend(
                loaded
                    .groups()
                    .flatten()
                    .map(|record| [bytemuck::cast_slice(&[*record.head]), record.measures].concat()),
            );
        }
        Ok(all)
    }

    #[test]
    fn rows_that_are_kept_come_between_the_new_ones_and_take_no_scratch() {
        let (folder, cancel) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
        let context = context(&cancel);
        let path = written(folder.path(), &rows());
        // The first run is gone; the last one is now first.
        let runs: FxHashMap<u32, u32> = [(1, 2), (2, 0)].into_iter().collect();
        let kept = Kept { path: &path, runs: &runs };
        let before = {
            let mut all = Vec::new();
            let mut records = kept.records(&OWNERS).unwrap();
            let take = |records: &[u64]| {
                all.extend(records.chunks_exact(WIDTH).map(<[u64]>::to_vec));
                Ok(())
            };
            records.below(None, take).unwrap();
            all
        };
        assert_eq!(before.len(), rows().len() / 3 * 2);
        let mut new: Vec<Vec<u64>> = before.iter().step_by(5).cloned().collect();
        new.iter_mut().for_each(|record| head_mut(record).run = 1);
        let apart = spill(folder.path(), &[&new], &context);
        let merged = loaded(&apart, Some(&kept), &context).unwrap();
        let in_scratch: u64 = apart.partitions.iter().map(|partition| partition.lock().unwrap().records).sum();
        assert_eq!((in_scratch, merged.len()), (new.len() as u64, before.len() + new.len()));
        let partitions = apart.partitions();
        drop(apart);
        let all = spill(folder.path(), &[&before, &new], &context);
        assert!(partitions > 1 && partitions == all.partitions(), "{partitions}");
        assert!(merged == loaded(&all, None, &context).unwrap());
    }

    #[test]
    fn rows_that_are_not_sorted_are_damage() {
        let (folder, cancel) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
        let context = context(&cancel);
        let mut rows = rows();
        rows.swap(10, 9000);
        let path = written(folder.path(), &rows);
        let runs: FxHashMap<u32, u32> = [(0, 0)].into_iter().collect();
        let spill = spill(folder.path(), &[], &context);
        let error = loaded(&spill, Some(&Kept { path: &path, runs: &runs }), &context).unwrap_err();
        assert!(error.to_string().contains("rows_owners.parquet") && error.to_string().contains("sorted"), "{error}");
    }
}
