//! From an address to the ordinal of the object there.
//!
//! A bit for every place at which an object may begin, in words of 64, each with the ordinal of its first object: the
//! others of the word follow by counting bits, since objects that lie next to each other in memory mostly do so in the
//! dump. Words of which that is not true (a class among objects, heaps dumped by several threads at once) have a list of
//! their ordinals. That is 16 bytes for every 512 of heap (with objects on multiples of 8), exact, and one access to
//! memory for most look-ups. Only [`CHUNK`]s of memory that hold an object have words; a table finds them.

use bytemuck::{Pod, Zeroable};
use heaplake_kit::array::Fault;
use heaplake_kit::{
    Array, ArrayPlan, Budget, BudgetVec, ColumnReader, Context, ReadAt, Reservation, Scratch, StageError, WriteAt,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column};
use rustc_hash::FxHashMap;

/// Numbers of the chunks of memory that hold an object, ascending.
pub const CHUNKS: Column<u64> = Column::new("object.chunk");

/// Bytes of memory in a chunk, as a power of two: small enough that a heap of lone objects does not cost much.
pub const CHUNK: u32 = 15;

/// Largest distance, as a power of two, at which the index expects objects.
const MOST_UNIT: u32 = 3;

/// A table of chunks may have so many times as many entries as there are chunks; beyond that they are hashed.
const SPARSE: u64 = 64;

/// Objects among which memory is looked over for those that need a list, at once.
const STRIDE: u32 = 10;

/// 64 places.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Word {
    /// Places that hold an object.
    bits: u64,
    /// Ordinal of the first of them.
    first: u32,
    /// Where the list of their ordinals begins; [`IN_ORDER`] where they follow each other.
    list: u32,
}

const IN_ORDER: u32 = u32::MAX;

/// The chunks in use, while a dump is read.
pub struct Chunks {
    seen: rustc_hash::FxHashSet<u64>,
    last: u64,
    counted: usize,
    reservation: Reservation,
}

impl Chunks {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        let reservation = budget.reserve("chunks of memory", 0)?;
        Ok(Self { seen: rustc_hash::FxHashSet::default(), last: u64::MAX, counted: 0, reservation })
    }

    /// Notes an object.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    #[inline]
    pub fn note(&mut self, address: u64) -> Result<(), StageError> {
        let chunk = address >> CHUNK;
        if chunk == self.last { Ok(()) } else { self.insert(chunk) }
    }

    fn insert(&mut self, chunk: u64) -> Result<(), StageError> {
        self.last = chunk;
        self.seen.insert(chunk);
        if self.seen.capacity() > self.counted {
            // Old and new table exist side by side while a set grows.
            self.reservation.grow((self.seen.capacity() - self.counted) as u64 * 18)?;
            self.counted = self.seen.capacity();
        }
        Ok(())
    }

    /// Writes them in order.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn write(self, budget: &Budget, scratch: &Scratch) -> Result<(), StageError> {
        let mut sorted = budget.zeroed("chunks of memory", self.seen.len())?;
        for (slot, chunk) in sorted.iter_mut().zip(&self.seen) {
            *slot = *chunk;
        }
        sorted.sort_unstable();
        let mut writer = heaplake_kit::ColumnWriter::create(scratch, CHUNKS)?;
        writer.extend(&sorted)?;
        writer.finish().map(drop)
    }
}

/// Finds the words of a chunk.
enum Table {
    /// By its number less the least one.
    Dense { least: u64, positions: BudgetVec<u32> },
    /// By its number.
    Hashed { positions: FxHashMap<u64, u32>, _reservation: Reservation },
}

const NOWHERE: u32 = u32::MAX;

impl Table {
    fn load(budget: &Budget, scratch: &Scratch) -> Result<(Self, u64), StageError> {
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

    #[inline]
    fn position(&self, chunk: u64) -> Option<usize> {
        let position = match self {
            Self::Dense { least, positions } => {
                *positions[..].get(usize::try_from(chunk.wrapping_sub(*least)).ok()?)?
            }
            Self::Hashed { positions, .. } => *positions.get(&chunk)?,
        };
        if position == NOWHERE { None } else { Some(position as usize) }
    }
}

/// Where the words are, and the arithmetic that leads there.
struct Places {
    table: Table,
    /// Distance between places, as a power of two.
    unit: u32,
}

impl Places {
    /// Word and bit of an address, where its chunk has words and it is on a place.
    #[inline]
    fn place(&self, address: u64) -> Option<(usize, u32)> {
        let chunk = self.table.position(address >> CHUNK)?;
        let within = (address & ((1 << CHUNK) - 1)) as u32;
        if within & ((1 << self.unit) - 1) != 0 {
            return None;
        }
        let slot = within >> self.unit;
        Some(((chunk << (CHUNK - self.unit - 6)) + (slot >> 6) as usize, slot & 63))
    }
}

/// See the module.
pub struct Index<W = Array<Word>, L = Array<u32>> {
    places: Places,
    words: W,
    lists: L,
}

/// Two objects at one address: the ordinal of the second.
pub struct Twice(pub NodeId);

impl Index {
    /// Bytes of words that the index of so many chunks takes, for objects on multiples of `1 << unit`.
    #[must_use]
    pub fn bytes(chunks: u64, unit: u32) -> u64 {
        (chunks * size_of::<Word>() as u64) << (CHUNK - unit.min(MOST_UNIT) - 6)
    }

    /// Of all objects from the ordinal `from` on, by [`NODE_ID`](columns::NODE_ID); their addresses are multiples of
    /// `1 << unit`. Leaves `for_others` bytes of the budget where it can. Gives the bytes that were spilled, too.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`]; inside, [`Twice`] where an address is not unique.
    pub fn build(
        from: u32,
        unit: u32,
        for_others: u64,
        scratch: &Scratch,
        context: &Context<'_>,
    ) -> Result<(Result<Self, Twice>, u64), StageError> {
        let unit = unit.min(MOST_UNIT);
        let (table, chunks) = Table::load(&context.budget, scratch)?;
        let places = Places { table, unit };
        let bytes = Self::bytes(chunks, unit);
        let kept = context.budget.reserve("index", for_others.min(context.budget.free().saturating_sub(bytes)))?;
        let mut room = ArrayPlan::plan(&context.budget, scratch, "index", &[bytes]);
        let count = bytes as usize / size_of::<Word>();
        let mut words = room.array(count, Word { bits: 0, first: 0, list: IN_ORDER })?;
        let filled = match &mut words {
            Array::Resident(words) => fill(&places, words, from, scratch, context)?,
            words @ Array::Paged(_) => fill(&places, words, from, scratch, context)?,
        };
        let mut mixed = match filled {
            Ok(mixed) => mixed,
            Err(twice) => return Ok((Err(twice), room.spilled_bytes())),
        };
        let listed = assign_lists(&mut words)?;
        let spilled = room.spilled_bytes();
        let mut room = ArrayPlan::plan(&context.budget, scratch, "index: lists", &[listed * 4]);
        let mut lists = room.array(listed as usize, 0)?;
        if listed > 0 {
            fill_lists(&places, &mut words, &mut lists, &mut mixed, from, scratch)?;
        }
        drop(kept);
        Ok((Ok(Self { places, words, lists }), spilled + room.spilled_bytes()))
    }

    /// The same with plain arrays, where they are resident.
    ///
    /// # Errors
    /// Gives itself back where an array is paged.
    #[allow(clippy::result_large_err)] // not an error, only the other kind
    pub fn resident(self) -> Result<Index<BudgetVec<Word>, BudgetVec<u32>>, Self> {
        match (self.words, self.lists) {
            (Array::Resident(words), Array::Resident(lists)) => Ok(Index { places: self.places, words, lists }),
            (words, lists) => Err(Self { places: self.places, words, lists }),
        }
    }
}

impl<W: ReadAt<Word>, L: ReadAt<u32>> Index<W, L> {
    /// The object at an address.
    ///
    /// # Errors
    /// [`StageError::Io`] when the index is paged and cannot be read.
    #[inline]
    pub fn find(&mut self, address: u64) -> Result<Option<NodeId>, Fault> {
        let Some((at, bit)) = self.places.place(address) else { return Ok(None) };
        let word = self.words.get(at)?;
        let mask = 1 << bit;
        if word.bits & mask == 0 {
            return Ok(None);
        }
        let before = (word.bits & (mask - 1)).count_ones();
        let node =
            if word.list == IN_ORDER { word.first + before } else { self.lists.get((word.list + before) as usize)? };
        Ok(Some(NodeId(node)))
    }

    /// Whether some object begins at an address of `from..to`. Costs an access for every 64 places.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn any_within(&mut self, from: u64, to: u64) -> Result<bool, Fault> {
        const WITHIN: u64 = (1 << CHUNK) - 1;
        let unit = self.places.unit;
        let slot = |within: u64| (within + (1 << unit) - 1) >> unit;
        let mut at = from;
        while at < to {
            let end = (at | WITHIN).saturating_add(1).min(to);
            if let Some(chunk) = self.places.table.position(at >> CHUNK) {
                let (low, high) = (slot(at & WITHIN), slot(((end - 1) & WITHIN) + 1));
                for number in low / 64..high.div_ceil(64) {
                    let first = number * 64;
                    let mut bits = self.words.get((chunk << (CHUNK - unit - 6)) + number as usize)?.bits;
                    bits &= u64::MAX << low.saturating_sub(first);
                    bits &= u64::MAX >> (64 - (high - first).min(64));
                    if bits != 0 {
                        return Ok(true);
                    }
                }
            }
            at = end;
        }
        Ok(false)
    }
}

/// Stretches of ordinals that hold objects of words that are not in order.
struct Mixed(Vec<u64>);

impl Mixed {
    fn new(nodes: u64) -> Self {
        // One bit for a thousand objects: 512 KiB at the very most.
        Self(vec![0; (nodes >> STRIDE) as usize / 64 + 1])
    }

    fn add(&mut self, ordinal: u32) {
        let stretch = (ordinal >> STRIDE) as usize;
        self.0[stretch / 64] |= 1 << (stretch % 64);
    }

    fn contains(&self, ordinal: u32) -> bool {
        let stretch = (ordinal >> STRIDE) as usize;
        self.0[stretch / 64] >> (stretch % 64) & 1 == 1
    }
}

/// Sets the bits, and marks the words that need a list.
fn fill(
    places: &Places,
    words: &mut impl WriteAt<Word>,
    from: u32,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<Result<Mixed, Twice>, StageError> {
    let mut addresses = ColumnReader::open(scratch, columns::NODE_ID)?;
    let nodes = addresses.remaining();
    addresses.skip(u64::from(from))?;
    let mut mixed = Mixed::new(nodes);
    let mut last = (usize::MAX, 0);
    for ordinal in from..nodes as u32 {
        let address = addresses.next()?;
        let Some((at, bit)) = places.place(address) else { return Ok(Err(Twice(NodeId(ordinal)))) };
        let follows = last.0 == at && bit > last.1;
        let before = words.change(at, |word| {
            let before = *word;
            word.bits |= 1 << bit;
            if before.bits == 0 {
                word.first = ordinal;
            } else if !follows {
                word.list = 0;
            }
            before
        })?;
        if before.bits >> bit & 1 == 1 {
            return Ok(Err(Twice(NodeId(ordinal))));
        }
        if before.bits != 0 && (!follows || before.list != IN_ORDER) {
            mixed.add(ordinal);
            if before.list == IN_ORDER {
                mixed.add(before.first);
                mixed.add(before.first + before.bits.count_ones() - 1);
            }
        }
        last = (at, bit);
        if ordinal.is_multiple_of(1 << 16) {
            context.check()?;
        }
    }
    Ok(Ok(mixed))
}

/// Gives every marked word its part of the lists; their length.
fn assign_lists(words: &mut Array<Word>) -> Result<u64, StageError> {
    fn assign(words: &mut impl WriteAt<Word>) -> Result<u64, StageError> {
        let mut listed = 0u64;
        for at in 0..words.count() {
            let word = words.get(at)?;
            if word.list != IN_ORDER {
                words.set(at, Word { list: listed as u32, ..word })?;
                listed += u64::from(word.bits.count_ones());
            }
        }
        Ok(listed)
    }
    match words {
        Array::Resident(words) => assign(words),
        words @ Array::Paged(_) => assign(words),
    }
}

/// Puts the ordinals of the objects of marked words in their places.
fn fill_lists(
    places: &Places,
    words: &mut Array<Word>,
    lists: &mut Array<u32>,
    mixed: &mut Mixed,
    from: u32,
    scratch: &Scratch,
) -> Result<(), StageError> {
    let mut addresses = ColumnReader::open(scratch, columns::NODE_ID)?;
    let nodes = addresses.remaining() as u32;
    let mut ordinal = from;
    let mut skipped = u64::from(from);
    while ordinal < nodes {
        let end = ((ordinal >> STRIDE) + 1).checked_shl(STRIDE).unwrap_or(nodes).min(nodes);
        if !mixed.contains(ordinal) {
            skipped += u64::from(end - ordinal);
            ordinal = end;
            continue;
        }
        addresses.skip(std::mem::take(&mut skipped))?;
        while ordinal < end {
            if let Some((at, bit)) = places.place(addresses.next()?) {
                let word = words.get(at)?;
                if word.list != IN_ORDER {
                    let before = (word.bits & ((1 << bit) - 1)).count_ones();
                    lists.set((word.list + before) as usize, ordinal)?;
                }
            }
            ordinal += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::ColumnWriter;
    use heaplake_kit::stage::Silent;
    use std::sync::atomic::AtomicBool;

    const FROM: u32 = 2;

    /// Builds an index of these addresses, in this order.
    fn build(addresses: &[u64], unit: u32, memory: u64) -> (tempfile::TempDir, Result<Index, Twice>, u64) {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let cancel = AtomicBool::new(false);
        let context = Context { budget: Budget::new(memory), threads: 1, progress: &Silent, cancel: &cancel };
        let mut ids = ColumnWriter::create(&scratch, columns::NODE_ID).unwrap();
        let mut chunks = Chunks::new(&context.budget).unwrap();
        [u64::MAX, 0].iter().for_each(|&id| ids.push(id).unwrap());
        for &address in addresses {
            ids.push(address).unwrap();
            chunks.note(address).unwrap();
        }
        ids.finish().unwrap();
        chunks.write(&context.budget, &scratch).unwrap();
        let (index, spilled) = Index::build(FROM, unit, 0, &scratch, &context).unwrap();
        (folder, index, spilled)
    }

    fn check(addresses: &[u64], unit: u32, memory: u64) -> u64 {
        let (_folder, index, spilled) = build(addresses, unit, memory);
        let mut index = index.unwrap_or_else(|Twice(node)| panic!("twice: {node:?}"));
        let here: std::collections::HashSet<u64> = addresses.iter().copied().collect();
        for (at, &address) in addresses.iter().enumerate() {
            assert_eq!(index.find(address).unwrap(), Some(NodeId(at as u32 + FROM)), "{address:#x}");
            for other in [
                address.wrapping_add(1),
                address.wrapping_sub(8),
                address ^ (1 << 40),
                address.wrapping_add(1 << CHUNK),
            ] {
                if !here.contains(&other) {
                    assert_eq!(index.find(other).unwrap(), None, "{other:#x}");
                }
            }
        }
        let mut sorted = addresses.to_vec();
        sorted.sort_unstable();
        let mut state = 1;
        for number in 0..300 {
            let near = sorted[random(&mut state) as usize % sorted.len()];
            let from = near.wrapping_add(random(&mut state) % 700).wrapping_sub(350);
            let to = from.saturating_add(random(&mut state) % [9, 1 << 10, 1 << 20][number % 3]);
            let next = sorted.get(sorted.partition_point(|&address| address < from));
            assert_eq!(index.any_within(from, to).unwrap(), next.is_some_and(|&next| next < to), "{from:#x}..{to:#x}");
        }
        assert_eq!(index.find(0).unwrap(), None);
        assert_eq!(index.find(u64::MAX).unwrap(), None);
        spilled
    }

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    /// Objects of random sizes, one behind the other.
    fn heap(count: usize, unit: u32) -> Vec<u64> {
        let mut state = 5;
        let mut at = 0x7_0000_0000u64;
        (0..count)
            .map(|_| {
                at += (1 + random(&mut state) % 12) << unit;
                at
            })
            .collect()
    }

    #[test]
    fn ascending_addresses() {
        for unit in [0, 1, 2, 3] {
            check(&heap(20_000, unit), unit, 64 << 20);
        }
        check(&heap(20_000, 4), 4, 64 << 20);
    }

    #[test]
    fn classes_between_objects_and_runs_of_several_threads() {
        let heap = heap(30_000, 3);
        let (classes, objects): (Vec<u64>, Vec<u64>) = heap.iter().partition(|&&address| (address >> 3) % 37 == 0);
        check(&[classes, objects].concat(), 3, 64 << 20);
        // Stretches of memory in an order of their own.
        let mut runs: Vec<&[u64]> = heap.chunks(777).collect();
        runs.sort_by_key(|run| run[0].wrapping_mul(0x9e37_79b9_7f4a_7c15));
        check(&runs.concat(), 3, 64 << 20);
    }

    #[test]
    fn addresses_in_any_order() {
        let mut heap = heap(30_000, 3);
        heap.sort_by_key(|address| address.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        check(&heap, 3, 64 << 20);
        heap.sort_unstable_by_key(|&address| std::cmp::Reverse(address));
        check(&heap, 3, 64 << 20);
    }

    #[test]
    fn lone_addresses_all_over_memory_and_small_budgets() {
        let mut state = 9;
        let mut lone: Vec<u64> = (0..5000).map(|_| random(&mut state) << 33 | random(&mut state) << 3).collect();
        lone.sort_unstable();
        lone.dedup();
        lone.extend([8, u64::MAX - 7]);
        assert_eq!(check(&lone, 3, 64 << 20), 0);
        assert!(check(&lone, 3, 4 << 20) > 0, "five megabytes of words are paged");
    }

    #[test]
    fn an_address_is_there_once() {
        for twice in [&[64, 128, 64][..], &[64, 64]] {
            let (_folder, index, _) = build(twice, 3, 1 << 20);
            assert_eq!(index.err().map(|Twice(node)| node), Some(NodeId(FROM + twice.len() as u32 - 1)));
        }
    }
}
