//! The chunks of memory that hold objects.

use heaplake_kit::{Budget, BudgetVec, ColumnReader, ColumnWriter, Reservation, Scratch, StageError};
use heaplake_schemas::scratch::{Column, Per};
use rustc_hash::{FxHashMap, FxHashSet};

/// Numbers of the chunks that hold an object, ascending.
pub(crate) const CHUNKS: Column<u64> = Column::of("object.chunk", Per::Few);

/// log2 of the bytes in a chunk: small, so that isolated objects cost little.
pub(super) const CHUNK: u32 = 15;

/// Largest ratio of table entries to chunks for a dense table; beyond it chunks are hashed.
const SPARSE: u64 = 64;

/// Divisor of the free budget that limits the chunks; beyond it none is kept, and the index sorts addresses instead.
const SHARE: u64 = 4;

/// Bytes per entry of the set of chunks: the old and the new table coexist while it grows.
const ENTRY: u64 = 18;

/// Collects the chunks in use while a dump is read.
pub(crate) struct Chunks {
    seen: FxHashSet<u64>,
    last: u64,
    counted: usize,
    /// The limit is exceeded; `seen` is empty.
    too_many: bool,
    most: u64,
    reservation: Reservation,
}

impl Chunks {
    /// Starts empty.
    pub(crate) fn new(budget: &Budget) -> Result<Self, StageError> {
        let reservation = budget.reserve("chunks of memory", 0)?;
        let most = budget.free() / SHARE;
        Ok(Self { seen: FxHashSet::default(), last: u64::MAX, counted: 0, too_many: false, most, reservation })
    }

    /// Adds the chunk of an address.
    #[inline]
    pub(crate) fn note(&mut self, address: u64) -> Result<(), StageError> {
        let chunk = address >> CHUNK;
        if chunk == self.last { Ok(()) } else { self.insert(chunk) }
    }

    fn insert(&mut self, chunk: u64) -> Result<(), StageError> {
        self.last = chunk;
        if self.too_many {
            return Ok(());
        }
        if self.seen.len() == self.counted && !self.seen.contains(&chunk) {
            // At least doubles, as the set does when it grows.
            let more = (self.counted as u64).max(1 << 10);
            if (self.counted as u64 + more) * ENTRY > self.most || self.reservation.grow(more * ENTRY).is_err() {
                self.too_many = true;
                self.seen = FxHashSet::default();
                self.reservation.shrink(self.counted as u64 * ENTRY);
                return Ok(());
            }
            self.counted += more as usize;
            self.seen.reserve(more as usize);
        }
        self.seen.insert(chunk);
        Ok(())
    }

    /// Writes the chunks in order; none if there are too many.
    pub(crate) fn write(self, budget: &Budget, scratch: &Scratch) -> Result<(), StageError> {
        let mut sorted = budget.zeroed("chunks of memory", self.seen.len())?;
        for (slot, chunk) in sorted.iter_mut().zip(&self.seen) {
            *slot = *chunk;
        }
        sorted.sort_unstable();
        let mut writer = ColumnWriter::create(scratch, CHUNKS)?;
        writer.extend(&sorted)?;
        writer.finish().map(drop)
    }
}

/// Maps a chunk to its position in [`CHUNKS`].
pub(super) enum Table {
    /// Indexed by chunk number minus `least`.
    Dense { least: u64, positions: BudgetVec<u32> },
    /// Keyed by chunk number.
    Hashed { positions: FxHashMap<u64, u32>, _reservation: Reservation },
}

const NOWHERE: u32 = u32::MAX;

impl Table {
    /// Loads the table; returns it with the number of chunks.
    pub(super) fn load(budget: &Budget, scratch: &Scratch) -> Result<(Self, u64), StageError> {
        let mut chunks = ColumnReader::open(scratch, CHUNKS)?;
        let count = chunks.remaining();
        let least = if count > 0 { chunks.next()? } else { 0 };
        let mut last = least;
        for _ in 1..count {
            last = chunks.next()?;
        }
        let mut chunks = ColumnReader::open(scratch, CHUNKS)?;
        let span = last - least;
        let table = if span / SPARSE <= count {
            let mut positions = budget.filled("index: chunks", span as usize + 1, NOWHERE)?;
            for position in 0..count as u32 {
                positions[(chunks.next()? - least) as usize] = position;
            }
            Self::Dense { least, positions }
        } else {
            let _reservation = budget.reserve("index: chunks", count.next_power_of_two() * 36)?;
            let mut positions = FxHashMap::default();
            positions.reserve(count as usize);
            for position in 0..count as u32 {
                positions.insert(chunks.next()?, position);
            }
            Self::Hashed { positions, _reservation }
        };
        Ok((table, count))
    }

    /// Returns the position of a chunk; `None` if it holds no object.
    #[inline]
    pub(super) fn position(&self, chunk: u64) -> Option<usize> {
        let position = match self {
            Self::Dense { least, positions } => {
                *positions[..].get(usize::try_from(chunk.wrapping_sub(*least)).ok()?)?
            }
            Self::Hashed { positions, .. } => *positions.get(&chunk)?,
        };
        if position == NOWHERE { None } else { Some(position as usize) }
    }
}
