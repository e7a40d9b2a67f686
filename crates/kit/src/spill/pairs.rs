//! The writing half: receives pairs and writes them to the files of their partitions.

use super::blocks::Blocks;
use crate::{Budget, Reservation, Scratch, StageError};

/// Key and value.
pub(super) type Pair = [u32; 2];

/// Pairs per block.
pub(super) const BLOCK_PAIRS: usize = 2048;
/// Bytes of a partition's buffer.
pub(super) const BUFFER_BYTES: usize = BLOCK_PAIRS * size_of::<Pair>();
const MOST_FILES: usize = 64;
/// Maximum key bits stored in a block; the partition determines the others.
const MOST_BITS: u32 = 24;
/// Pairs per partition such that the scatter on reading fits the L2 cache.
const PAIRS_PER_PARTITION: u64 = 1 << 18;

/// Groups pairs out of core; see the module.
pub struct PairSpill {
    pub(super) files: Vec<Blocks>,
    /// Partitions per file.
    pub(super) partitions_per_file: usize,
    pub(super) shift: u32,
    pub(super) keys: usize,
    pub(super) partitions: Vec<Partition>,
    block: Vec<u8>,
    _buffers: Reservation,
}

#[derive(Default)]
pub(super) struct Partition {
    pub(super) buffer: Vec<Pair>,
    /// Positions of its blocks in its file.
    pub(super) blocks: Vec<u64>,
}

impl Partition {
    pub(super) fn pairs(&self) -> usize {
        self.blocks.len() * BLOCK_PAIRS + self.buffer.len()
    }

    /// Writes a full buffer to a file through `block`: all values, then the low 16 bits of all keys, then the higher
    /// key bits that the partition (keys of `shift` bits) does not determine.
    pub(super) fn flush(&mut self, shift: u32, block: &mut Vec<u8>, file: &mut Blocks) -> Result<(), StageError> {
        let Self { buffer, blocks } = self;
        block.clear();
        block.extend(buffer.iter().flat_map(|[_, value]| value.to_ne_bytes()));
        block.extend(buffer.iter().flat_map(|[key, _]| (*key as u16).to_ne_bytes()));
        if shift > u16::BITS {
            block.extend(buffer.iter().map(|[key, _]| (key >> u16::BITS) as u8));
        }
        buffer.clear();
        blocks.push(file.push(block)?);
        Ok(())
    }
}

impl PairSpill {
    /// Maximum number of partitions, minus one.
    pub const MOST_PARTITIONS: usize = 1024;
    /// Maximum budget of any spill, for buffers and for reading back, bytes.
    pub const MOST_BYTES: u64 = (Self::MOST_PARTITIONS * BUFFER_BYTES) as u64 + (4 << 20);

    /// Creates a spill for about `pairs` pairs with keys below `keys`. Its files are unnamed; `name` is the name of its
    /// reservation.
    pub fn create(
        budget: &Budget,
        scratch: &Scratch,
        name: &'static str,
        keys: usize,
        pairs: u64,
    ) -> Result<Self, StageError> {
        let wanted = pairs.div_ceil(PAIRS_PER_PARTITION).clamp(1, Self::MOST_PARTITIONS as u64) as usize;
        let shift = keys.div_ceil(wanted).max(1).next_power_of_two().trailing_zeros().min(MOST_BITS);
        let count = (keys >> shift) + 1;
        let buffers = budget.reserve(name, (count * BUFFER_BYTES) as u64)?;
        let partitions_per_file = count.div_ceil(MOST_FILES);
        Ok(Self {
            files: (0..count.div_ceil(partitions_per_file)).map(|_| Blocks::new(scratch)).collect(),
            partitions_per_file,
            shift,
            keys,
            partitions: (0..count).map(|_| Partition::default()).collect(),
            block: Vec::new(),
            _buffers: buffers,
        })
    }

    /// Adds a pair.
    #[inline]
    pub fn push(&mut self, key: u32, value: u32) -> Result<(), StageError> {
        let partition = &mut self.partitions[(key >> self.shift) as usize];
        partition.buffer.push([key, value]);
        if partition.buffer.len() == BLOCK_PAIRS { self.flush((key >> self.shift) as usize) } else { Ok(()) }
    }

    /// Returns the partitioner of this spill, for threads that prepare pairs.
    pub fn divider(&self) -> Divider {
        Divider { shift: self.shift, partitions: self.partitions.len() }
    }

    /// Adds pairs prepared by its [`divider`](Self::divider), as if pushed.
    pub fn append(&mut self, divided: &Divided) -> Result<(), StageError> {
        let mut first = 0;
        for (index, &end) in divided.ends.iter().enumerate() {
            let mut pairs = &divided.pairs[first..end as usize];
            first = end as usize;
            while !pairs.is_empty() {
                let buffer = &mut self.partitions[index].buffer;
                buffer.reserve_exact(BLOCK_PAIRS - buffer.len());
                let (now, later) = pairs.split_at(pairs.len().min(BLOCK_PAIRS - buffer.len()));
                buffer.extend_from_slice(now);
                pairs = later;
                if buffer.len() == BLOCK_PAIRS {
                    self.flush(index)?;
                }
            }
        }
        Ok(())
    }

    /// Writes a full buffer.
    #[cold]
    fn flush(&mut self, index: usize) -> Result<(), StageError> {
        let file = &mut self.files[index / self.partitions_per_file];
        self.partitions[index].flush(self.shift, &mut self.block, file)
    }

    /// Bytes per block.
    pub(super) fn block_bytes(&self) -> usize {
        BLOCK_PAIRS * if self.shift > u16::BITS { 7 } else { 6 }
    }

    /// Bytes on disk.
    pub fn spilled_bytes(&self) -> u64 {
        self.files.iter().map(Blocks::in_file).sum()
    }
}

/// Partitions pairs, so that a spill takes them in bulk.
#[derive(Clone, Copy)]
pub struct Divider {
    shift: u32,
    partitions: usize,
}

/// Pairs by partition, in their original order within each.
#[derive(Default)]
pub struct Divided {
    pairs: Vec<Pair>,
    /// End of each partition's pairs.
    ends: Vec<u32>,
}

impl Divider {
    /// Partitions pairs of keys and values into `out`, replacing its content.
    pub fn divide(&self, keys: &[u32], values: impl Iterator<Item = u32>, out: &mut Divided) {
        out.ends.clear();
        out.ends.resize(self.partitions + 1, 0);
        // Counting sort: `ends` holds starts first, which advance to ends.
        keys.iter().for_each(|key| out.ends[(key >> self.shift) as usize + 1] += 1);
        let mut sum = 0;
        out.ends.iter_mut().for_each(|end| {
            sum += *end;
            *end = sum;
        });
        out.pairs.resize(keys.len(), [0; 2]);
        for (&key, value) in keys.iter().zip(values) {
            let next = &mut out.ends[(key >> self.shift) as usize];
            out.pairs[*next as usize] = [key, value];
            *next += 1;
        }
        out.ends.pop();
    }
}
