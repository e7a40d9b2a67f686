//! Index from an address to the ordinal of the object there.
//!
//! One bit per place at which an object may begin, in words of 64 places. Each word stores the ordinal of its first
//! object; a bit count gives the others, since objects that are adjacent in memory are mostly adjacent in the dump.
//! Words that break this order (a class among objects, heaps dumped by several threads at once) have a list of their
//! ordinals. Cost: 16 bytes per 512 bytes of heap (with objects on multiples of 8), exact, and one access to memory for
//! most look-ups. Only chunks of memory that hold an object have words; a table finds them.
//!
//! Where objects lie so far apart that words would take more than [`MOST`] bytes per object, or where the chunks do not
//! fit, the index is a sorted list of addresses: 13 bytes per object, whatever the addresses ([`sorted`]).

mod chunks;
mod places;
mod sorted;
mod words;

pub(crate) use chunks::{CHUNKS, Chunks};
pub(crate) use words::{Twice, Word};

use heaplake_kit::access::{Size, per_node};
use heaplake_kit::array::{Fault, Residency};
use heaplake_kit::array_plan::filled;
use heaplake_kit::{Array, ArrayPlan, ColumnPoints, ColumnReader, Job, ReadAt, StageError, on_resident};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;
use places::Places;
use sorted::Rows;

/// Limit of the bytes of words per object; beyond it addresses are sorted.
const MOST: u64 = 32;

/// Bytes of words that every heap may have.
const FEW: u64 = 1 << 20;

/// Bits of a place that select the bit in its word.
const PLACE_BITS: u32 = 6;

/// Place of an address at which no object can begin.
const NOWHERE: u64 = u64::MAX;

/// Maps the address or number of an object in the input to its node.
pub(crate) trait Find {
    /// Returns the node of an object; `None` if there is none.
    fn find(&mut self, object: u64) -> Result<Option<NodeId>, Fault>;

    /// Returns the place of an object, for [`Self::find_at`], and prefetches it if it is resident.
    fn place(&self, object: u64) -> u64 {
        object
    }

    /// Returns the node at a place; `None` if there is none.
    fn find_at(&mut self, place: u64) -> Result<Option<NodeId>, Fault> {
        self.find(place)
    }
}

/// Finds objects by address.
pub(crate) struct Index {
    by: Owned,
    pub spilled: u64,
}

/// The two representations.
enum By<W, L, A, P> {
    /// Bitmap words over the places of addresses.
    Places { places: P, words: W, lists: L },
    /// Sorted addresses.
    Order(Rows<A, L>),
}

/// With arrays that may be paged.
type Owned = By<Array<Word>, Array<u32>, Array<u64>, Places>;

/// An index over resident or paged arrays.
pub(crate) struct Finder<'a, W, L, A>(By<W, L, A, &'a Places>);

impl Index {
    /// Estimated size for objects of 128 bytes on average; smaller objects take less each.
    pub(crate) const SIZE: Size = per_node::<u32>();

    /// Builds the index of all objects from the ordinal `from` on, by [`NODE_ID`](columns::NODE_ID); their addresses
    /// are multiples of `1 << unit`. Leaves `for_others` bytes of the budget free if possible.
    ///
    /// # Errors
    /// Inside, [`Twice`] if an address is not unique.
    pub(crate) fn build(
        from: u32,
        unit: u32,
        for_others: u64,
        job: &Job<'_>,
    ) -> Result<Result<Self, Twice>, StageError> {
        let Job { scratch, context, .. } = *job;
        let objects = ColumnReader::open(scratch, columns::NODE_ID)?.remaining().saturating_sub(from.into());
        let chunks = ColumnReader::open(scratch, CHUNKS)?.remaining();
        let bytes_of_words = Places::words_of(chunks, unit) * size_of::<Word>() as u64;
        let by_places = (chunks > 0 || objects == 0) && bytes_of_words <= FEW.max(MOST * objects);
        let bytes = if by_places { bytes_of_words } else { 13 * objects };
        // A paged index works with part of the budget; other consumers may not.
        let free = context.budget.free();
        let kept = context.budget.reserve("index", for_others.min(free.saturating_sub(bytes).max(free / 4)))?;
        let mut plan = ArrayPlan::of(job, "index");
        let by = match by_places {
            true => by_places_of(from, Places::load(unit, &context.budget, scratch)?, &mut plan, job)?,
            false => Rows::build(from, &mut plan, job)?.map(By::Order),
        };
        drop(kept);
        Ok(by.map(|by| Self { by, spilled: plan.spilled_bytes() }))
    }

    /// [`Self::build`], where the place of an object that has the address of another one is an error.
    pub(crate) fn build_unique(
        from: u32,
        unit: u32,
        job: &Job<'_>,
        error: impl FnOnce(NodeId, String) -> Result<StageError, StageError>,
    ) -> Result<Self, StageError> {
        let nodes = ColumnReader::open(job.scratch, columns::NODE_ID)?.remaining();
        match Self::build(from, unit, nodes + nodes / 8, job)? {
            Ok(index) => Ok(index),
            Err(Twice(node)) => {
                let address = ColumnPoints::open(job.scratch, columns::NODE_ID)?.at(node.index());
                Err(error(node, format!("another one at {address:#x}"))?)
            }
        }
    }

    /// [`Self::build`] for a heap in which an earlier stage has checked that addresses are unique.
    pub(crate) fn build_again(from: u32, unit: u32, for_others: u64, job: &Job<'_>) -> Result<Self, StageError> {
        Self::build(from, unit, for_others, job)?.map_err(|_| {
            let problem = "two objects have one address".to_owned();
            StageError::Scratch { path: job.scratch.path(columns::NODE_ID), problem }
        })
    }

    /// Whether an object begins at an address of `from..to`. Costs one access per 64 places.
    pub(crate) fn any_within(&mut self, from: u64, to: u64) -> Result<bool, Fault> {
        let (places, words) = match &mut self.by {
            By::Places { places, words, .. } => (places, words),
            By::Order(rows) => return rows.anywhere().any_within(from, to),
        };
        let mut at = from;
        while at < to {
            let (windows, end) = places.windows(at, to);
            for window in windows {
                if words.get(window.word)?.bits & window.mask != 0 {
                    return Ok(true);
                }
            }
            at = end;
        }
        Ok(false)
    }
}

/// Fills the words of all objects from the ordinal `from` on, and their lists.
fn by_places_of(
    from: u32,
    places: Places,
    plan: &mut ArrayPlan<'_>,
    job: &Job<'_>,
) -> Result<Result<Owned, Twice>, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut words = plan.one(filled(places.words, Word::EMPTY))?;
    let mixed = match on_resident!(words => words::fill(&places, words, from, scratch, context))? {
        Ok(mixed) => mixed,
        Err(twice) => return Ok(Err(twice)),
    };
    let listed = on_resident!(words => words::assign_lists(words, context))?;
    let mut lists = plan.one(filled(listed, 0))?;
    if listed > 0 {
        words::fill_lists(&places, &mut words, &mut lists, &mixed, from, job)?;
    }
    Ok(Ok(By::Places { places, words, lists }))
}

impl Residency for Index {
    type Resident<'a> = Finder<'a, &'a [Word], &'a [u32], &'a [u64]>;
    type Anywhere<'a> = Finder<'a, &'a mut Array<Word>, &'a mut Array<u32>, &'a mut Array<u64>>;

    fn resident(&mut self) -> Option<Self::Resident<'_>> {
        Some(Finder(match &self.by {
            By::Places { places, words: Array::Resident(words), lists: Array::Resident(lists) } => {
                By::Places { places, words, lists }
            }
            By::Places { .. } => return None,
            By::Order(rows) => By::Order(rows.resident()?),
        }))
    }

    fn anywhere(&mut self) -> Self::Anywhere<'_> {
        Finder(match &mut self.by {
            By::Places { places, words, lists } => By::Places { places, words, lists },
            By::Order(rows) => By::Order(rows.anywhere()),
        })
    }
}

impl<W: ReadAt<Word>, L: ReadAt<u32>, A: ReadAt<u64>> Find for Finder<'_, W, L, A> {
    #[inline]
    fn find(&mut self, address: u64) -> Result<Option<NodeId>, Fault> {
        match &mut self.0 {
            By::Places { places, words, lists } => {
                let Some((at, bit)) = places.place(address) else { return Ok(None) };
                words.get(at)?.object(bit, lists)
            }
            By::Order(rows) => rows.find(address),
        }
    }

    #[inline]
    fn place(&self, address: u64) -> u64 {
        let By::Places { places, words, .. } = &self.0 else { return address };
        let Some((at, bit)) = places.place(address) else { return NOWHERE };
        words.prefetch(at);
        (at as u64) << PLACE_BITS | u64::from(bit)
    }

    #[inline]
    fn find_at(&mut self, place: u64) -> Result<Option<NodeId>, Fault> {
        let By::Places { words, lists, .. } = &mut self.0 else { return self.find(place) };
        if place == NOWHERE {
            return Ok(None);
        }
        let (at, bit) = ((place >> PLACE_BITS) as usize, place as u32 & ((1 << PLACE_BITS) - 1));
        words.get(at)?.object(bit, lists)
    }
}

impl Find for Index {
    #[inline]
    fn find(&mut self, address: u64) -> Result<Option<NodeId>, Fault> {
        self.anywhere().find(address)
    }
}

#[cfg(test)]
mod tests {
    use super::chunks::CHUNK;
    use super::*;
    use heaplake_kit::stage::Silent;
    use heaplake_kit::{Budget, ColumnWriter, Context, Scratch};
    use heaplake_schemas::options::{AnalysisOptions, Options};
    use std::sync::atomic::AtomicBool;

    const FROM: u32 = 2;

    /// Builds an index of these addresses, in this order.
    fn build(addresses: &[u64], unit: u32, memory: u64) -> (tempfile::TempDir, Result<Index, Twice>) {
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
        let options = Options::Analysis(AnalysisOptions::default());
        let index = Index::build(FROM, unit, 0, &Job::on(&scratch, &context, &options)).unwrap();
        (folder, index)
    }

    fn check(addresses: &[u64], unit: u32, memory: u64) -> u64 {
        let (_folder, index) = build(addresses, unit, memory);
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
        index.spilled
    }

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    /// Adjacent objects of random sizes.
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
        // Stretches of memory in random order.
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
        // 5 MB of words, but 65 kB of sorted addresses.
        assert_eq!(check(&lone, 3, 4 << 20), 0);
        // Adjacent and isolated objects, for uneven buckets.
        lone.extend((0..40_000).map(|i| (1 << 40) + 8 * i));
        assert_eq!(check(&lone, 3, 64 << 20), 0);
        let mut far: Vec<u64> = (0..400_000).map(|_| random(&mut state) << 33 | random(&mut state) << 3).collect();
        far.sort_unstable();
        far.dedup();
        assert!(check(&far, 3, 4 << 20) > 0, "five megabytes of addresses are paged");
    }

    #[test]
    fn an_address_is_there_once() {
        for twice in [&[64, 128, 64][..], &[64, 64]] {
            let (_folder, index) = build(twice, 3, 1 << 20);
            assert_eq!(index.err().map(|Twice(node)| node), Some(NodeId(FROM + twice.len() as u32 - 1)));
        }
    }
}
