//! Arrays that are in memory when they fit, and in a file behind a fixed number of resident pages when they do not.
//!
//! A stage names all its arrays at once ([`ArrayPlan::plan`]), the most often touched first; as many as fit the budget are
//! resident, the others share what is left as page frames. Code that uses them is the same either way: [`Array`] is read
//! and written, [`Lookup`] is a scratch column that is only read. Both are touched one element at a time; that the
//! accesses of graph algorithms stay near each other is what makes paging bearable, and random ones merely slow.
//!
//! Pages are replaced by the clock rule (second chance): one bit per frame, no lists. A changed page is written back
//! when its frame is needed. The file of a paged array is allocated in full before the first access, so that a full disk
//! shows at once and not in the middle.

use crate::{Budget, BudgetVec, ColumnMap, ColumnReader, Reservation, Scratch, StageError, hint};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes of a page: that of the system. Searches touch many places at once, each for a while; small pages hold more of
/// them in the same memory.
const PAGE: usize = 4 << 10;

/// Bytes of frames that a paged array has at least.
const LEAST_FRAMES: u64 = 1 << 20;

/// One part in so many of the free budget is left to what is no array.
const KEPT_BACK: u64 = 32;

/// What an access may fail with. Boxed, so that a result with a number in it travels in registers.
pub type Fault = Box<StageError>;

impl From<Fault> for StageError {
    fn from(fault: Fault) -> Self {
        *fault
    }
}

/// How the arrays of a stage share the budget.
pub struct ArrayPlan<'a> {
    budget: &'a Budget,
    scratch: &'a Scratch,
    who: &'static str,
    /// For each array to come: bytes of page frames, or none when it is resident.
    frames: VecDeque<Option<u64>>,
    spilled: u64,
}

impl<'a> ArrayPlan<'a> {
    /// Decides about arrays of these sizes in bytes. They must then be made in the same order.
    #[must_use]
    pub fn plan(budget: &'a Budget, scratch: &'a Scratch, who: &'static str, sizes: &[u64]) -> Self {
        // A stage has some smaller things beside its arrays.
        let mut free = budget.free() - budget.free() / KEPT_BACK;
        let mut frames = VecDeque::with_capacity(sizes.len());
        for (i, &size) in sizes.iter().enumerate() {
            let rest = sizes.len() - i;
            let for_others = (rest as u64 - 1) * LEAST_FRAMES;
            let decision = if size.saturating_add(for_others) <= free {
                None
            } else {
                // What does not fit anyway shares the rest evenly.
                Some((free / rest as u64).clamp(LEAST_FRAMES, size.max(LEAST_FRAMES)))
            };
            free = free.saturating_sub(decision.unwrap_or(size));
            frames.push_back(decision);
        }
        Self { budget, scratch, who, frames, spilled: 0 }
    }

    /// The next array: `len` copies of `value`.
    ///
    /// # Errors
    /// [`StageError::Budget`] when not even its frames fit; [`StageError::Io`] when its file cannot be made.
    pub fn array<T: Pod>(&mut self, len: usize, value: T) -> Result<Array<T>, StageError> {
        Ok(match self.frames.pop_front().flatten() {
            None => Array::Resident(self.budget.filled(self.who, len, value)?),
            Some(frames) => {
                let number = self.frames.len();
                let path = self.scratch.file(&format!("paged.{}.{number}", self.who.replace([' ', ':'], "_")));
                self.spilled += (len * size_of::<T>()) as u64;
                let paged = Paged::create(self.budget, self.who, path, len, value, frames)?;
                self.scratch.measure();
                Array::Paged(Box::new(paged))
            }
        })
    }

    /// The next array, filled from a column.
    ///
    /// # Errors
    /// As [`Self::array`], and [`StageError::Scratch`] when the column is shorter than it should be.
    pub fn load<T: Pod>(&mut self, column: Column<T>) -> Result<Array<T>, StageError> {
        let mut reader = ColumnReader::open(self.scratch, column)?;
        let mut array = self.array(reader.remaining() as usize, T::zeroed())?;
        array.read_from(&mut reader)?;
        Ok(array)
    }

    /// The next array, which is a column that is only read.
    ///
    /// # Errors
    /// As [`Self::array`].
    pub fn lookup<T: Pod>(&mut self, column: Column<T>) -> Result<Lookup<T>, StageError> {
        Ok(match self.frames.pop_front().flatten() {
            None => {
                let bytes = fs::metadata(self.scratch.path(column)).map_or(0, |file| file.len());
                let reservation = self.budget.reserve(self.who, bytes)?;
                Lookup::Mapped(ColumnMap::open(self.scratch, column, Some(reservation))?)
            }
            Some(frames) => {
                let path = self.scratch.path(column);
                Lookup::Paged(Box::new(Paged::open(self.budget, self.who, path, frames)?))
            }
        })
    }

    /// Bytes of the arrays made so far that went to files because they did not fit.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled
    }
}

/// Bytes of a column, for [`ArrayPlan::plan`]; 0 where there is none.
#[must_use]
pub fn column_bytes<T>(scratch: &Scratch, column: Column<T>) -> u64 {
    fs::metadata(scratch.path(column)).map_or(0, |file| file.len())
}

/// Reads single elements. Hot loops are generic over this and [`WriteAt`]: compiled once for arrays that are all resident,
/// where an access is a plain one, and once for [`Array`] and [`Lookup`], which look each time.
pub trait ReadAt<T> {
    /// Number of elements.
    fn count(&self) -> usize;

    /// Element `i`.
    ///
    /// # Errors
    /// [`StageError::Io`] when its page cannot be read.
    fn get(&mut self, i: usize) -> Result<T, Fault>;

    /// Tells that element `i` will be asked for soon; one that does not exist is fine. Costs next to nothing, and helps
    /// only where the element is in memory.
    #[inline]
    fn prefetch(&self, _i: usize) {}
}

/// Reads and writes single elements.
pub trait WriteAt<T>: ReadAt<T> {
    /// Changes element `i` in place.
    ///
    /// # Errors
    /// [`StageError::Io`] when its page cannot be read.
    fn change<R>(&mut self, i: usize, change: impl FnOnce(&mut T) -> R) -> Result<R, Fault>;

    /// Replaces element `i`.
    ///
    /// # Errors
    /// [`StageError::Io`] when its page cannot be read.
    #[inline]
    fn set(&mut self, i: usize, value: T) -> Result<(), Fault> {
        self.change(i, |element| *element = value)
    }
}

impl<T: Copy> ReadAt<T> for BudgetVec<T> {
    fn count(&self) -> usize {
        self.len()
    }

    #[inline]
    fn prefetch(&self, i: usize) {
        hint::prefetch(self, i);
    }

    #[inline]
    fn get(&mut self, i: usize) -> Result<T, Fault> {
        Ok(self[i])
    }
}

impl<T: Copy> WriteAt<T> for BudgetVec<T> {
    #[inline]
    fn change<R>(&mut self, i: usize, change: impl FnOnce(&mut T) -> R) -> Result<R, Fault> {
        Ok(change(&mut self[i]))
    }
}

impl<T: Pod> ReadAt<T> for ColumnMap<T> {
    fn count(&self) -> usize {
        self.len()
    }

    #[inline]
    fn prefetch(&self, i: usize) {
        hint::prefetch(self, i);
    }

    #[inline]
    fn get(&mut self, i: usize) -> Result<T, Fault> {
        Ok(self[i])
    }
}

/// An array of fixed length.
pub enum Array<T> {
    /// In memory.
    Resident(BudgetVec<T>),
    /// In a file.
    Paged(Box<Paged<T>>),
}

impl<T: Pod> ReadAt<T> for Array<T> {
    fn count(&self) -> usize {
        match self {
            Self::Resident(items) => items.len(),
            Self::Paged(paged) => paged.len,
        }
    }

    #[inline]
    fn prefetch(&self, i: usize) {
        if let Self::Resident(items) = self {
            hint::prefetch(items, i);
        }
    }

    #[inline]
    fn get(&mut self, i: usize) -> Result<T, Fault> {
        match self {
            Self::Resident(items) => Ok(items[i]),
            Self::Paged(paged) => paged.get(i),
        }
    }
}

impl<T: Pod> WriteAt<T> for Array<T> {
    #[inline]
    fn change<R>(&mut self, i: usize, change: impl FnOnce(&mut T) -> R) -> Result<R, Fault> {
        match self {
            Self::Resident(items) => Ok(change(&mut items[i])),
            Self::Paged(paged) => paged.change(i, change),
        }
    }
}

impl<T: Pod> Array<T> {
    /// Replaces all elements by the next ones of a column.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub fn read_from(&mut self, reader: &mut ColumnReader<T>) -> Result<(), StageError> {
        match self {
            Self::Resident(items) => reader.read_into(items),
            Self::Paged(paged) => (0..paged.len).try_for_each(|i| Ok(paged.set(i, reader.next()?)?)),
        }
    }

    /// Writes all elements as a column.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn write_to(&mut self, scratch: &Scratch, column: Column<T>) -> Result<(), StageError> {
        let mut writer = crate::ColumnWriter::create(scratch, column)?;
        match self {
            Self::Resident(items) => writer.extend(items)?,
            Self::Paged(paged) => (0..paged.len).try_for_each(|i| writer.push(paged.get(i)?))?,
        }
        writer.finish().map(drop)
    }
}

/// A column, read at random.
pub enum Lookup<T> {
    /// Mapped, and counted as resident.
    Mapped(ColumnMap<T>),
    /// Behind page frames.
    Paged(Box<Paged<T>>),
}

impl<T: Pod> ReadAt<T> for Lookup<T> {
    fn count(&self) -> usize {
        match self {
            Self::Mapped(map) => map.len(),
            Self::Paged(paged) => paged.len,
        }
    }

    #[inline]
    fn prefetch(&self, i: usize) {
        if let Self::Mapped(map) = self {
            hint::prefetch(map, i);
        }
    }

    #[inline]
    fn get(&mut self, i: usize) -> Result<T, Fault> {
        match self {
            Self::Mapped(map) => Ok(map[i]),
            Self::Paged(paged) => paged.get(i),
        }
    }
}

/// No frame, or no page.
const NONE: u32 = u32::MAX;

/// An array in a file, behind frames.
pub struct Paged<T> {
    path: PathBuf,
    file: File,
    len: usize,
    /// Whether the file belongs to this array and goes with it.
    own: bool,
    /// What a page holds that was never written, for arrays of their own.
    fill: T,
    /// Frame of each page.
    frame_of: Vec<u32>,
    /// Whether each page was ever written to the file.
    stored: Vec<bool>,
    frames: Vec<T>,
    /// Page in each frame.
    page_in: Vec<u32>,
    used: Vec<bool>,
    changed: Vec<bool>,
    hand: usize,
    _reservation: Reservation,
}

impl<T: Pod> Paged<T> {
    const ELEMENTS: usize = PAGE / size_of::<T>();
    const SHIFT: u32 = Self::ELEMENTS.trailing_zeros();
    const WHOLE: () = assert!(Self::ELEMENTS.is_power_of_two(), "elements must divide a page");

    fn create(
        budget: &Budget,
        who: &'static str,
        path: PathBuf,
        len: usize,
        fill: T,
        frames: u64,
    ) -> Result<Self, StageError> {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .map_err(|error| StageError::io(&path, "create", error))?;
        allocate(&path, &file, (len * size_of::<T>()).next_multiple_of(PAGE) as u64)?;
        Self::new(budget, who, path, file, len, fill, frames, true)
    }

    /// An existing file, for reading only.
    fn open(budget: &Budget, who: &'static str, path: PathBuf, frames: u64) -> Result<Self, StageError> {
        let file = File::open(&path).map_err(|error| StageError::io(&path, "open", error))?;
        let bytes = file.metadata().map_err(|error| StageError::io(&path, "examine", error))?.len();
        Self::new(budget, who, path, file, bytes as usize / size_of::<T>(), T::zeroed(), frames, false)
    }

    #[allow(clippy::too_many_arguments)]
    fn new(
        budget: &Budget,
        who: &'static str,
        path: PathBuf,
        file: File,
        len: usize,
        fill: T,
        frames: u64,
        own: bool,
    ) -> Result<Self, StageError> {
        let () = Self::WHOLE;
        let pages = len.div_ceil(Self::ELEMENTS);
        // The tables count too: five bytes a page, six a frame.
        let frames = ((frames as usize).saturating_sub(pages * 5) / (PAGE + 6)).clamp(1, pages.max(1));
        let reservation = budget.reserve(who, (frames * (PAGE + 6) + pages * 5) as u64)?;
        Ok(Self {
            path,
            file,
            len,
            own,
            fill,
            frame_of: vec![NONE; pages],
            stored: vec![!own; pages],
            frames: vec![fill; frames * Self::ELEMENTS],
            page_in: vec![NONE; frames],
            used: vec![false; frames],
            changed: vec![false; frames],
            hand: 0,
            _reservation: reservation,
        })
    }

    /// Place of element `i` among the frames. Never inlined: so the test whether an array is paged at all stays small where
    /// it is not.
    #[inline(never)]
    fn place(&mut self, i: usize) -> Result<usize, Fault> {
        let page = i >> Self::SHIFT;
        let mut frame = self.frame_of[page];
        if frame == NONE {
            frame = self.bring(page)?;
        }
        self.used[frame as usize] = true;
        Ok((frame as usize) << Self::SHIFT | (i & (Self::ELEMENTS - 1)))
    }

    #[inline]
    fn get(&mut self, i: usize) -> Result<T, Fault> {
        let place = self.place(i)?;
        Ok(self.frames[place])
    }

    #[inline]
    fn set(&mut self, i: usize, value: T) -> Result<(), Fault> {
        self.change(i, |element| *element = value)
    }

    #[inline]
    fn change<R>(&mut self, i: usize, change: impl FnOnce(&mut T) -> R) -> Result<R, Fault> {
        let place = self.place(i)?;
        self.changed[place >> Self::SHIFT] = true;
        Ok(change(&mut self.frames[place]))
    }

    /// Brings a page into a frame.
    #[cold]
    fn bring(&mut self, page: usize) -> Result<u32, Fault> {
        let frame = self.free_frame()?;
        let elements = &mut self.frames[frame << Self::SHIFT..(frame + 1) << Self::SHIFT];
        if self.stored[page] {
            let count = Self::ELEMENTS.min(self.len - (page << Self::SHIFT));
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut elements[..count]);
            self.file
                .read_exact_at(bytes, (page * PAGE) as u64)
                .map_err(|error| Box::new(StageError::io(&self.path, "read", error)))?;
        } else {
            elements.fill(self.fill);
        }
        (self.frame_of[page], self.page_in[frame]) = (frame as u32, page as u32);
        Ok(frame as u32)
    }

    /// The next frame that nobody touched since the hand last passed; its page is written back if it changed.
    fn free_frame(&mut self) -> Result<usize, Fault> {
        loop {
            let frame = self.hand;
            self.hand = (self.hand + 1) % self.page_in.len();
            if std::mem::take(&mut self.used[frame]) {
                continue;
            }
            let page = self.page_in[frame];
            if page != NONE {
                if std::mem::take(&mut self.changed[frame]) {
                    let bytes: &[u8] =
                        bytemuck::cast_slice(&self.frames[frame << Self::SHIFT..(frame + 1) << Self::SHIFT]);
                    self.file
                        .write_all_at(bytes, u64::from(page) * PAGE as u64)
                        .map_err(|error| Box::new(StageError::io(&self.path, "write", error)))?;
                    self.stored[page as usize] = true;
                }
                self.frame_of[page as usize] = NONE;
            }
            return Ok(frame);
        }
    }
}

impl<T> Drop for Paged<T> {
    fn drop(&mut self) {
        if self.own {
            // A file that stays is only space; the whole folder goes at the end.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Takes the space for a file at once.
fn allocate(path: &Path, file: &File, bytes: u64) -> Result<(), StageError> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        // Where the file system cannot do that, space is taken as pages are written.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(error) => Err(StageError::io(path, "allocate", error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let size = [(LEN * 4) as u64];
        let mut resident = ArrayPlan::plan(&large, &scratch, "large", &size).array(LEN, 7u32).unwrap();
        let mut room = ArrayPlan::plan(&small, &scratch, "small", &size);
        let mut paged = room.array(LEN, 7u32).unwrap();
        assert_eq!(room.spilled_bytes(), size[0]);
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
        assert_eq!(fs::read(scratch.path(A)).unwrap(), fs::read(scratch.path(B)).unwrap());

        let mut lookup = ArrayPlan::plan(&small, &scratch, "lookup", &size).lookup(A);
        assert!(lookup.is_err(), "the first paged array still holds the budget");
        drop(paged);
        lookup = ArrayPlan::plan(&small, &scratch, "lookup", &size).lookup(A);
        let mut lookup = lookup.unwrap();
        for i in (0..LEN).step_by(997) {
            assert_eq!(lookup.get(i).unwrap(), resident.get(i).unwrap());
        }
        drop(lookup);
        assert_eq!(small.used(), 0);
    }

    #[test]
    fn the_first_arrays_are_resident() {
        let (_folder, scratch) = scratch();
        let budget = Budget::new(10 << 20);
        let mut room = ArrayPlan::plan(&budget, &scratch, "some", &[4 << 20, 8 << 20, 1 << 20]);
        let first = room.array::<u32>(1 << 20, 0).unwrap();
        let second = room.array::<u32>(2 << 20, 0).unwrap();
        let third = room.array::<u32>(1 << 18, 0).unwrap();
        assert!(matches!((first, second, third), (Array::Resident(_), Array::Paged(_), Array::Resident(_))));
    }
}
