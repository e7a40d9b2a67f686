//! External merge sort: sorted runs on disk, then a multi-way merge.
//!
//! Memory: 1/8 of the free budget during input, 4 MiB during output. Disk: each item once, plus once per further merge
//! level of 32 runs.

use crate::{Budget, BudgetVec, ColumnReader, ColumnWriter, Reservation, Scratch, StageError};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Maximum number of runs per merge.
const MOST_RUNS: usize = 32;

/// Buffer bytes per run.
const RUN_BYTES: u64 = 128 << 10;

/// Runs are sorted in 1/8 of the free budget.
const SHARE: u64 = 8;

/// Accepts items in any order.
pub struct Sorter<'a, T> {
    run: BudgetVec<T>,
    /// Number of buffered items.
    filled: usize,
    writer: ColumnWriter<T>,
    runs: Vec<u64>,
    disk: Disk<'a, T>,
}

/// Two columns, the first with the runs, and the resources of the sorter.
struct Disk<'a, T> {
    columns: [Column<T>; 2],
    scratch: &'a Scratch,
    budget: &'a Budget,
    who: &'static str,
}

impl<'a, T: Pod + Ord> Sorter<'a, T> {
    /// Creates a sorter for at most `most` items, with exclusive use of the columns.
    pub fn new(
        who: &'static str,
        most: usize,
        columns: [Column<T>; 2],
        budget: &'a Budget,
        scratch: &'a Scratch,
    ) -> Result<Self, StageError> {
        let fit = budget.free() / SHARE / size_of::<T>() as u64;
        let run = budget.zeroed(who, most.min(fit as usize).max(1))?;
        let writer = ColumnWriter::create(scratch, columns[0])?;
        Ok(Self { run, filled: 0, writer, runs: Vec::new(), disk: Disk { columns, scratch, budget, who } })
    }

    /// Adds an item.
    pub fn push(&mut self, item: T) -> Result<(), StageError> {
        if self.filled == self.run.len() {
            self.flush()?;
        }
        self.run[self.filled] = item;
        self.filled += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StageError> {
        let run = &mut self.run[..self.filled];
        run.sort_unstable();
        self.writer.extend(run)?;
        self.runs.push(run.len() as u64);
        self.filled = 0;
        Ok(())
    }

    /// Ends the input and returns the items in order.
    pub fn finish(mut self) -> Result<Sorted<'a, T>, StageError> {
        if self.filled > 0 {
            self.flush()?;
        }
        let Self { run, writer, mut runs, mut disk, .. } = self;
        drop(run);
        let count = writer.finish()?;
        while runs.len() > MOST_RUNS {
            runs = disk.merge(&runs)?;
        }
        let merge = Merge::open(0, &runs, &disk)?;
        Ok(Sorted { count, merge, disk })
    }
}

impl<T: Pod + Ord> Disk<'_, T> {
    /// Merges groups of [`MOST_RUNS`] runs into one run each.
    fn merge(&mut self, runs: &[u64]) -> Result<Vec<u64>, StageError> {
        let mut writer = ColumnWriter::create(self.scratch, self.columns[1])?;
        let mut longer = Vec::new();
        let mut start = 0;
        for runs in runs.chunks(MOST_RUNS) {
            let mut merge = Merge::open(start, runs, self)?;
            while let Some(item) = merge.pop()? {
                writer.push(item)?;
            }
            let count = runs.iter().sum();
            longer.push(count);
            start += count;
        }
        writer.finish()?;
        self.columns.reverse();
        Ok(longer)
    }
}

/// Yields all items in order. Removes its columns on drop.
pub struct Sorted<'a, T> {
    count: u64,
    merge: Merge<T>,
    disk: Disk<'a, T>,
}

impl<T: Pod + Ord> Sorted<'_, T> {
    /// Number of items.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bytes written to disk.
    pub fn bytes(&self) -> u64 {
        self.count * size_of::<T>() as u64
    }

    /// Removes and returns the least remaining item.
    pub fn pop(&mut self) -> Result<Option<T>, StageError> {
        self.merge.pop()
    }
}

impl<T> Drop for Sorted<'_, T> {
    fn drop(&mut self) {
        self.disk.columns.into_iter().for_each(|column| self.disk.scratch.discard(column));
    }
}

/// A heap of the least item of each run.
struct Merge<T> {
    least: BinaryHeap<Reverse<(T, usize)>>,
    runs: Vec<Run<T>>,
    _buffers: Reservation,
}

struct Run<T> {
    reader: ColumnReader<T>,
    left: u64,
}

impl<T: Pod + Ord> Merge<T> {
    /// Opens runs of these lengths, stored consecutively from `start`.
    fn open(mut start: u64, lengths: &[u64], disk: &Disk<'_, T>) -> Result<Self, StageError> {
        let buffers = disk.budget.reserve(disk.who, lengths.len() as u64 * RUN_BYTES)?;
        let mut merge = Self { least: BinaryHeap::new(), runs: Vec::new(), _buffers: buffers };
        for &length in lengths {
            let mut reader = ColumnReader::open(disk.scratch, disk.columns[0])?;
            reader.skip(start)?;
            merge.least.push(Reverse((reader.next()?, merge.runs.len())));
            merge.runs.push(Run { reader, left: length - 1 });
            start += length;
        }
        Ok(merge)
    }

    fn pop(&mut self) -> Result<Option<T>, StageError> {
        let Some(mut least) = self.least.peek_mut() else { return Ok(None) };
        let Reverse((item, run)) = *least;
        let run = &mut self.runs[run];
        if run.left == 0 {
            PeekMut::pop(least);
        } else {
            run.left -= 1;
            least.0.0 = run.reader.next()?;
        }
        Ok(Some(item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column<u32>; 2] = [Column::new("sorted.a"), Column::new("sorted.b")];

    /// Sorts `count` numbers with a budget for short runs.
    fn sort(count: u32, bytes: u64) {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let budget = Budget::new(bytes);
        let mut sorter = Sorter::new("numbers", count as usize, COLUMNS, &budget, &scratch).unwrap();
        (0..count).for_each(|i| sorter.push(i.wrapping_mul(2_654_435_761) % count).unwrap());
        let mut sorted = sorter.finish().unwrap();
        assert_eq!(sorted.count(), u64::from(count));
        let mut expected: Vec<u32> = (0..count).map(|i| i.wrapping_mul(2_654_435_761) % count).collect();
        expected.sort_unstable();
        for number in expected {
            assert_eq!(sorted.pop().unwrap(), Some(number));
        }
        assert_eq!(sorted.pop().unwrap(), None);
        drop(sorted);
        assert_eq!(budget.used(), 0);
        assert!(!scratch.has(COLUMNS[0]) && !scratch.has(COLUMNS[1]));
    }

    #[test]
    fn any_number_of_runs_is_merged() {
        const LEAST: u64 = MOST_RUNS as u64 * RUN_BYTES;
        sort(0, LEAST);
        sort(1, LEAST);
        // One run, several runs, two merge levels.
        sort(100_000, LEAST);
        sort(1_000_000, LEAST);
        sort(4_500_000, LEAST);
    }
}
