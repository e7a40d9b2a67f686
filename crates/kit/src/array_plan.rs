//! Decides the storage mode of a stage's arrays.
//!
//! A stage requests all arrays that it uses at the same time in one tuple, the most accessed first, and gets a tuple of
//! arrays. If all fit the budget, all are resident. Otherwise columns with packed files are kept packed in memory if
//! they fit; the others are paged and share the rest of the budget as page frames. See [`storage_mode`].

use crate::budget::without_margin;
use crate::offsets::OffsetBlock;
use crate::paged::{Frames, Paged};
use crate::storage_mode::{self, StorageMode};
use crate::{Array, Budget, ColumnMap, ColumnReader, Job, Lookup, Offsets, Scratch, StageError, column};
use bytemuck::{Pod, Zeroable};
use heaplake_schemas::scratch::Column;

/// Makes the arrays of a stage. It leaves a margin of the budget for small allocations.
pub struct ArrayPlan<'a> {
    budget: &'a Budget,
    scratch: &'a Scratch,
    who: &'static str,
    spilled: u64,
    is_streamed: bool,
    /// Some arrays are paged; their pages compete with those of maps for memory.
    is_short: bool,
}

impl<'a> ArrayPlan<'a> {
    /// Creates a plan that reserves its arrays under the name `who`.
    pub fn new(budget: &'a Budget, scratch: &'a Scratch, who: &'static str) -> Self {
        Self { budget, scratch, who, spilled: 0, is_streamed: false, is_short: false }
    }

    /// Creates a plan with the budget and the scratch folder of a job.
    pub fn of(job: &Job<'a>, who: &'static str) -> Self {
        Self::new(&job.context.budget, job.scratch, who)
    }

    /// Pages every array that is not yet in memory and exceeds the minimum of page frames, with that minimum and
    /// regardless of the budget: for arrays that are read sequentially.
    #[must_use]
    pub fn streamed(self) -> Self {
        Self { is_streamed: true, ..self }
    }

    /// Makes a tuple of arrays from a tuple of requests: [`filled`], [`loaded`], [`lookup`], [`offsets`], or an
    /// [`Option`] of one.
    ///
    /// # Errors
    /// [`StageError::Budget`] when the page frames of the paged arrays do not fit.
    pub fn make<R: Requests>(&mut self, requests: R) -> Result<R::Arrays, StageError> {
        requests.make(self)
    }

    /// Makes one array.
    pub fn one<R: Request>(&mut self, request: R) -> Result<R::Array, StageError> {
        self.make((request,)).map(|(array,)| array)
    }

    /// Returns true if all requested arrays would be resident.
    pub fn holds<R: Requests>(&self, requests: &R) -> bool {
        requests.fit(self)
    }

    /// Bytes of the arrays made so far that were paged because they did not fit.
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled
    }

    /// Returns the storage mode of each array, from its size and that of its packed file, if any.
    fn decide<const N: usize>(&self, sizes: [u64; N], packed: [Option<u64>; N]) -> [StorageMode; N] {
        if self.is_streamed {
            return sizes.map(StorageMode::streamed);
        }
        storage_mode::decide(without_margin(self.budget.free()), sizes, packed)
    }

    fn frames(&self, bytes: u64) -> Frames<'a> {
        Frames { budget: self.budget, who: self.who, bytes }
    }

    fn array<T: Pod>(&mut self, len: usize, value: T, form: StorageMode) -> Result<Array<T>, StageError> {
        Ok(match form.frames() {
            None => Array::Resident(self.budget.filled(self.who, len, value)?),
            Some(bytes) => {
                self.spilled += (len * size_of::<T>()) as u64;
                let paged = Paged::create(self.scratch, len, value, self.frames(bytes))?;
                self.scratch.measure();
                Array::Paged(Box::new(paged))
            }
        })
    }
}

/// A request for one array.
pub trait Request {
    /// The array that the request yields.
    type Array;

    /// Bytes of all elements.
    fn bytes(&self, scratch: &Scratch) -> u64;

    /// Bytes of the packed file of a looked-up column, if it has one.
    fn packed_bytes(&self, _scratch: &Scratch) -> Option<u64> {
        None
    }

    /// Makes the array in a storage mode.
    fn make(self, plan: &mut ArrayPlan<'_>, form: StorageMode) -> Result<Self::Array, StageError>;
}

/// See [`filled`].
pub struct Filled<T> {
    len: usize,
    value: T,
}

/// An array of `len` copies of `value`.
pub fn filled<T: Pod>(len: usize, value: T) -> Filled<T> {
    Filled { len, value }
}

impl<T: Pod> Request for Filled<T> {
    type Array = Array<T>;

    fn bytes(&self, _scratch: &Scratch) -> u64 {
        self.len as u64 * size_of::<T>() as u64
    }

    fn make(self, plan: &mut ArrayPlan<'_>, form: StorageMode) -> Result<Array<T>, StageError> {
        plan.array(self.len, self.value, form)
    }
}

/// See [`loaded`].
pub struct Loaded<T>(Column<T>);

/// An array filled from a column.
pub fn loaded<T: Pod>(column: Column<T>) -> Loaded<T> {
    Loaded(column)
}

impl<T: Pod> Request for Loaded<T> {
    type Array = Array<T>;

    fn bytes(&self, scratch: &Scratch) -> u64 {
        column_bytes(scratch, self.0)
    }

    fn make(self, plan: &mut ArrayPlan<'_>, form: StorageMode) -> Result<Array<T>, StageError> {
        let mut reader = ColumnReader::open(plan.scratch, self.0)?;
        let mut array = plan.array(reader.remaining() as usize, T::zeroed(), form)?;
        array.read_from(&mut reader)?;
        Ok(array)
    }
}

/// See [`lookup`].
pub struct LookedUp<T>(Column<T>);

/// A read-only column with random access.
pub fn lookup<T: Pod>(column: Column<T>) -> LookedUp<T> {
    LookedUp(column)
}

impl<T: Pod> Request for LookedUp<T> {
    type Array = Lookup<T>;

    fn bytes(&self, scratch: &Scratch) -> u64 {
        // A column in memory needs no further memory.
        if scratch.is_resident(self.0) { 0 } else { column_bytes(scratch, self.0) }
    }

    fn packed_bytes(&self, scratch: &Scratch) -> Option<u64> {
        column::file::packed_bytes(scratch, self.0)
    }

    fn make(self, plan: &mut ArrayPlan<'_>, form: StorageMode) -> Result<Lookup<T>, StageError> {
        let is_resident = plan.scratch.is_resident(self.0);
        Ok(match form.frames().filter(|_| !is_resident) {
            None => {
                let reservation = plan.budget.reserve(plan.who, self.bytes(plan.scratch))?;
                Lookup::Resident(ColumnMap::counted(plan.scratch, self.0, plan.is_short, reservation)?)
            }
            Some(bytes) => {
                let in_memory = matches!(form, StorageMode::Packed(_));
                Lookup::Paged(Box::new(Paged::open(plan.scratch, self.0, in_memory, plan.frames(bytes))?))
            }
        })
    }
}

/// See [`offsets`].
pub struct Starts<T> {
    sizes: Column<u32>,
    elements: Column<T>,
}

/// The start of each group of a grouped column, computed from the column of group sizes.
pub fn offsets<T>(sizes: Column<u32>, elements: Column<T>) -> Starts<T> {
    Starts { sizes, elements }
}

impl<T> Starts<T> {
    /// Number of groups and of elements.
    fn counts(&self, scratch: &Scratch) -> [usize; 2] {
        let groups = column_bytes(scratch, self.sizes) as usize / size_of::<u32>();
        [groups, column_bytes(scratch, self.elements) as usize / size_of::<T>()]
    }
}

impl<T> Request for Starts<T> {
    type Array = Offsets;

    fn bytes(&self, scratch: &Scratch) -> u64 {
        let [groups, elements] = self.counts(scratch);
        (Offsets::blocks(groups) * size_of::<OffsetBlock>()) as u64
            + Offsets::large_bytes(Offsets::most_large(elements))
    }

    fn make(self, plan: &mut ArrayPlan<'_>, form: StorageMode) -> Result<Offsets, StageError> {
        let [groups, elements] = self.counts(plan.scratch);
        // When memory is short, allocate only for the large groups that exist, out of the page frames.
        let large = match form.frames() {
            None => Offsets::most_large(elements),
            Some(_) => Offsets::count_large(plan.scratch, self.sizes)?,
        };
        let form = match form {
            StorageMode::Paged(bytes) => StorageMode::Paged(bytes.saturating_sub(Offsets::large_bytes(large))),
            other => other,
        };
        let blocks = plan.array(Offsets::blocks(groups), OffsetBlock::zeroed(), form)?;
        Offsets::sum(blocks, [groups, large], plan.budget, plan.scratch, self.sizes)
    }
}

impl<R: Request> Request for Option<R> {
    type Array = Option<R::Array>;

    fn bytes(&self, scratch: &Scratch) -> u64 {
        self.as_ref().map_or(0, |request| request.bytes(scratch))
    }

    fn packed_bytes(&self, scratch: &Scratch) -> Option<u64> {
        self.as_ref().and_then(|request| request.packed_bytes(scratch))
    }

    fn make(self, plan: &mut ArrayPlan<'_>, form: StorageMode) -> Result<Self::Array, StageError> {
        self.map(|request| request.make(plan, form)).transpose()
    }
}

/// A tuple of [`Request`]s.
pub trait Requests {
    /// The tuple of the arrays.
    type Arrays;

    /// Makes all arrays.
    fn make(self, plan: &mut ArrayPlan<'_>) -> Result<Self::Arrays, StageError>;

    /// Returns true if all would be resident.
    fn fit(&self, plan: &ArrayPlan<'_>) -> bool;
}

macro_rules! requests {
    ($($name:ident $form:ident),+) => {
        impl<$($name: Request),+> Requests for ($($name,)+) {
            type Arrays = ($($name::Array,)+);

            #[expect(non_snake_case, reason = "each request is called as its type")]
            fn make(self, plan: &mut ArrayPlan<'_>) -> Result<Self::Arrays, StageError> {
                let ($($name,)+) = self;
                let scratch = plan.scratch;
                let decided = plan.decide([$($name.bytes(scratch)),+], [$($name.packed_bytes(scratch)),+]);
                plan.is_short = decided.iter().any(|form| *form != StorageMode::Resident);
                let [$($form),+] = decided;
                Ok(($($name.make(plan, $form)?,)+))
            }

            #[expect(non_snake_case, reason = "each request is called as its type")]
            fn fit(&self, plan: &ArrayPlan<'_>) -> bool {
                let ($($name,)+) = self;
                let scratch = plan.scratch;
                let decided = plan.decide([$($name.bytes(scratch)),+], [$($name.packed_bytes(scratch)),+]);
                decided.iter().all(|form| *form == StorageMode::Resident)
            }
        }
    };
}

requests!(A a);
requests!(A a, B b);
requests!(A a, B b, C c);
requests!(A a, B b, C c, D d);
requests!(A a, B b, C c, D d, E e);
requests!(A a, B b, C c, D d, E e, F f);
requests!(A a, B b, C c, D d, E e, F f, G g);
requests!(A a, B b, C c, D d, E e, F f, G g, H h);
requests!(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k, L l, M m, N n);

/// Bytes of the elements of a column; 0 if it does not exist.
pub fn column_bytes<T>(scratch: &Scratch, column: Column<T>) -> u64 {
    column::file::bytes(scratch, column).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{ReadAt, WriteAt};

    fn scratch() -> (tempfile::TempDir, Scratch) {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        (folder, scratch)
    }

    #[test]
    fn paged_arrays_behave_like_resident_ones() {
        const LEN: usize = 3_000_000;
        let (_folder, scratch) = scratch();
        let (large, small) = (Budget::new(64 << 20), Budget::new(2 << 20));
        let mut resident = ArrayPlan::new(&large, &scratch, "large").one(filled(LEN, 7u32)).unwrap();
        let mut plan = ArrayPlan::new(&small, &scratch, "small");
        let mut paged = plan.one(filled(LEN, 7u32)).unwrap();
        assert_eq!(plan.spilled_bytes(), 4 * LEN as u64);
        assert!(matches!((&resident, &paged), (Array::Resident(_), Array::Paged(_))));
        let mut state = 1u64;
        for step in 0..400_000u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let i = (state >> 33) as usize % LEN;
            assert_eq!(paged.get(i).unwrap(), resident.get(i).unwrap());
            paged.set(i, step).unwrap();
            resident.set(i, step).unwrap();
        }
        const A: Column<u32> = Column::new("a");
        const B: Column<u32> = Column::new("b");
        paged.write_to(&scratch, A).unwrap();
        resident.write_to(&scratch, B).unwrap();
        assert_eq!(std::fs::read(scratch.path(A)).unwrap(), std::fs::read(scratch.path(B)).unwrap());

        let refused = ArrayPlan::new(&small, &scratch, "lookup").one(lookup(A));
        assert!(refused.is_err(), "the first paged array still holds the budget");
        drop(paged);
        let mut lookup = ArrayPlan::new(&small, &scratch, "lookup").one(lookup(A)).unwrap();
        for i in (0..LEN).step_by(997) {
            // Prefetches of resident pages, absent pages, and pages beyond the end.
            lookup.prefetch(i);
            lookup.prefetch(2 * i);
            assert_eq!(lookup.get(i).unwrap(), resident.get(i).unwrap());
        }
        drop(lookup);
        assert_eq!(small.used(), 0);
    }

    #[test]
    fn streamed_arrays_take_the_least_page_frames_and_have_the_same_elements() {
        const A: Column<u32> = Column::new("a");
        const LEN: u32 = 1_000_000;
        let (_folder, scratch) = scratch();
        let mut writer = crate::ColumnWriter::create(&scratch, A).unwrap();
        (0..LEN).for_each(|i| writer.push(i ^ 5).unwrap());
        writer.finish().unwrap();
        let budget = Budget::new(64 << 20);
        let mut plan = ArrayPlan::new(&budget, &scratch, "streamed").streamed();
        let (mut paged, mut starts, small) =
            plan.make((lookup(A), filled(LEN as usize, 7u32), filled(10, 1u8))).unwrap();
        assert!(matches!((&paged, &starts, &small), (Lookup::Paged(_), Array::Paged(_), Array::Resident(_))));
        assert!(budget.used() <= 5 * storage_mode::LEAST_FRAMES / 2, "{}", budget.used());
        for i in 0..LEN as usize {
            paged.prefetch(i + 5000);
            assert_eq!((paged.get(i).unwrap(), starts.get(i).unwrap()), (i as u32 ^ 5, 7));
        }
    }

    #[test]
    fn what_is_looked_up_beside_paged_arrays_is_the_same() {
        const A: Column<u32> = Column::new("a");
        let (_folder, scratch) = scratch();
        let mut writer = crate::ColumnWriter::create(&scratch, A).unwrap();
        (0..300_000u32).for_each(|i| writer.push(i ^ 9).unwrap());
        writer.finish().unwrap();
        for memory in [64 << 20, 3 << 20] {
            let budget = Budget::new(memory);
            let mut plan = ArrayPlan::new(&budget, &scratch, "short");
            let (looked_up, other) = plan.make((lookup(A), filled(1 << 20, 7u32))).unwrap();
            assert_eq!(matches!(other, Array::Paged(_)), memory == 3 << 20);
            let Lookup::Resident(all) = looked_up else { panic!("it fits") };
            assert!((0..).zip(all.iter()).all(|(i, &value)| value == i ^ 9), "{memory}");
        }
    }

    #[test]
    fn no_page_is_read_once_the_run_is_to_end() {
        let (_folder, scratch) = scratch();
        let budget = Budget::new(4 << 20);
        let part = budget.part("a stage", 3 << 20).unwrap();
        let mut paged = ArrayPlan::new(&part, &scratch, "paged").one(filled(1 << 20, 7u32)).unwrap();
        assert_eq!(paged.get(0).unwrap(), 7);
        budget.stop();
        assert_eq!(paged.get(1).unwrap(), 7, "it is in memory");
        assert!(matches!(paged.get(1 << 19).map_err(|fault| *fault), Err(StageError::Cancelled)));
        assert!(part.check().is_err());
    }

    #[test]
    fn the_first_arrays_are_resident() {
        let (_folder, scratch) = scratch();
        let budget = Budget::new(10 << 20);
        let requests = (filled(1 << 20, 0u32), filled(1 << 20, 0u64), filled(1 << 18, 0u32));
        let arrays = ArrayPlan::new(&budget, &scratch, "some").make(requests).unwrap();
        assert!(matches!(arrays, (Array::Resident(_), Array::Paged(_), Array::Resident(_))));
    }
}
