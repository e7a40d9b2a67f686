//! Arrays that are resident if they fit the budget, else paged through a fixed number of page frames.
//!
//! Code is the same in both cases: an [`Array`] is read and written, a [`Lookup`] is a read-only scratch column; both
//! are accessed one element at a time. Graph algorithms mostly access neighbouring elements, so paging is bearable;
//! random accesses are slow. [`ArrayPlan`](crate::ArrayPlan) decides which arrays of a stage are resident;
//! [`on_resident!`](crate::on_resident) compiles a hot loop once per case.

pub use crate::error::Fault;

use crate::paged::Paged;
use crate::threads::locked;
use crate::{BudgetVec, ColumnMap, ColumnReader, ColumnWriter, Scratch, StageError, hint};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;
use std::ops::Deref;
use std::sync::Mutex;

/// Reads single elements. Hot loops are generic over this trait and [`WriteAt`]: they are compiled once for slices
/// (direct access) and once for [`Array`] and [`Lookup`] (a residency check per access).
pub trait ReadAt<T> {
    /// Number of elements.
    fn count(&self) -> usize;

    /// Returns element `i`.
    fn get(&mut self, i: usize) -> Result<T, Fault>;

    /// Prefetches element `i`, which may be out of range, into the cache or from disk.
    #[inline]
    fn prefetch(&self, _i: usize) {}
}

/// Reads and writes single elements.
pub trait WriteAt<T>: ReadAt<T> {
    /// Changes element `i` in place.
    fn change<R>(&mut self, i: usize, change: impl FnOnce(&mut T) -> R) -> Result<R, Fault>;

    /// Replaces element `i`.
    #[inline]
    fn set(&mut self, i: usize, value: T) -> Result<(), Fault> {
        self.change(i, |element| *element = value)
    }
}

/// One value for every index, in place of a column that the input lacks. Its count is 0.
pub struct Constant<T>(pub T);

impl<T: Copy> ReadAt<T> for Constant<T> {
    fn count(&self) -> usize {
        0
    }

    #[inline]
    fn get(&mut self, _: usize) -> Result<T, Fault> {
        Ok(self.0)
    }
}

impl<T: Copy> ReadAt<T> for [T] {
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

impl<T: Copy> WriteAt<T> for [T] {
    #[inline]
    fn change<R>(&mut self, i: usize, change: impl FnOnce(&mut T) -> R) -> Result<R, Fault> {
        Ok(change(&mut self[i]))
    }
}

impl<T: Copy> ReadAt<T> for &[T] {
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

impl<T, A: ReadAt<T> + ?Sized> ReadAt<T> for &mut A {
    fn count(&self) -> usize {
        (**self).count()
    }

    #[inline]
    fn prefetch(&self, i: usize) {
        (**self).prefetch(i);
    }

    #[inline]
    fn get(&mut self, i: usize) -> Result<T, Fault> {
        (**self).get(i)
    }
}

impl<T, A: WriteAt<T> + ?Sized> WriteAt<T> for &mut A {
    #[inline]
    fn change<R>(&mut self, i: usize, change: impl FnOnce(&mut T) -> R) -> Result<R, Fault> {
        (**self).change(i, change)
    }
}

/// An array of fixed length; `R` owns the elements in memory.
pub enum Array<T, R = BudgetVec<T>> {
    /// In memory.
    Resident(R),
    /// In a file, behind page frames.
    Paged(Box<Paged<T>>),
}

/// A read-only column with random access, or a frozen array. One in memory counts against the budget.
pub type Lookup<T> = Array<T, ColumnMap<T>>;

impl<T: Pod, R: Deref<Target = [T]>> ReadAt<T> for Array<T, R> {
    fn count(&self) -> usize {
        match self {
            Self::Resident(items) => items.len(),
            Self::Paged(paged) => paged.len(),
        }
    }

    #[inline]
    fn prefetch(&self, i: usize) {
        match self {
            Self::Resident(items) => hint::prefetch(items, i),
            Self::Paged(paged) => paged.prefetch(i),
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
    /// Replaces all elements by the next elements of a column.
    pub fn read_from(&mut self, reader: &mut ColumnReader<T>) -> Result<(), StageError> {
        match self {
            Self::Resident(items) => reader.read_into(items),
            Self::Paged(paged) => (0..paged.len()).try_for_each(|i| Ok(paged.set(i, reader.next()?)?)),
        }
    }

    /// Writes all elements as a column.
    pub fn write_to(&mut self, scratch: &Scratch, column: Column<T>) -> Result<(), StageError> {
        let mut writer = ColumnWriter::create(scratch, column)?;
        match self {
            Self::Resident(items) => writer.extend(items)?,
            Self::Paged(paged) => (0..paged.len()).try_for_each(|i| writer.push(paged.get(i)?))?,
        }
        writer.finish().map(drop)
    }

    /// Converts into a read-only array.
    #[must_use]
    pub fn freeze(self) -> Lookup<T> {
        match self {
            Self::Resident(items) => Lookup::Resident(ColumnMap::of_array(items)),
            Self::Paged(paged) => Lookup::Paged(paged),
        }
    }
}

impl<T: Pod> Lookup<T> {
    /// Returns a second handle for another thread; `None` if paged.
    pub fn share(&self) -> Option<Self> {
        match self {
            Self::Resident(map) => Some(Self::Resident(map.clone())),
            Self::Paged(_) => None,
        }
    }

    /// True if no access reads the disk: all elements are in memory, plain or packed.
    pub fn is_in_memory(&self) -> bool {
        match self {
            Self::Resident(_) => true,
            Self::Paged(paged) => paged.is_in_memory(),
        }
    }
}

/// A [`Lookup`] shared by threads; a paged one is behind a mutex.
pub enum SharedLookup<T> {
    /// Mapped.
    Mapped(ColumnMap<T>),
    /// Behind page frames.
    Paged(Mutex<Box<Paged<T>>>),
}

impl<T> From<Lookup<T>> for SharedLookup<T> {
    fn from(lookup: Lookup<T>) -> Self {
        match lookup {
            Lookup::Resident(map) => Self::Mapped(map),
            Lookup::Paged(paged) => Self::Paged(Mutex::new(paged)),
        }
    }
}

impl<T: Pod> SharedLookup<T> {
    /// Returns element `i`.
    #[inline]
    pub fn get(&self, i: usize) -> Result<T, Fault> {
        match self {
            Self::Mapped(map) => Ok(map[i]),
            // A panic leaves the page frames consistent.
            Self::Paged(paged) => locked(paged).get(i),
        }
    }
}

/// A value that may be resident, for [`on_resident!`](crate::on_resident).
pub trait Residency {
    /// Its type if resident: a slice, or a struct of slices.
    type Resident<'a>
    where
        Self: 'a;
    /// Its type in any case.
    type Anywhere<'a>
    where
        Self: 'a;

    /// Returns a view of the resident data; `None` if paged.
    fn resident(&mut self) -> Option<Self::Resident<'_>>;

    /// Returns a view that works in both cases.
    fn anywhere(&mut self) -> Self::Anywhere<'_>;
}

impl<T: Pod> Residency for Array<T> {
    type Resident<'a> = &'a mut [T];
    type Anywhere<'a> = &'a mut Self;

    fn resident(&mut self) -> Option<&mut [T]> {
        match self {
            Self::Resident(items) => Some(items),
            Self::Paged(_) => None,
        }
    }

    fn anywhere(&mut self) -> &mut Self {
        self
    }
}

impl<T: Pod> Residency for Lookup<T> {
    type Resident<'a> = &'a [T];
    type Anywhere<'a> = &'a mut Self;

    fn resident(&mut self) -> Option<&[T]> {
        match self {
            Self::Resident(map) => Some(map),
            Self::Paged(_) => None,
        }
    }

    fn anywhere(&mut self) -> &mut Self {
        self
    }
}

/// Compiles an expression twice, for resident and for possibly paged arrays, and evaluates the one that applies. Each
/// name must be a variable of a type that implements [`Residency`]; inside the expression it is a slice in the first
/// case and a reference in the second.
///
/// ```
/// use heaplake_kit::array::{ReadAt, WriteAt};
/// use heaplake_kit::{ArrayPlan, Budget, Scratch, array_plan::filled, on_resident};
///
/// fn count_up(mut array: impl WriteAt<u32>) -> Result<u32, heaplake_kit::StageError> {
///     for i in 0..array.count() {
///         array.set(i, i as u32)?;
///     }
///     Ok(array.get(99)?)
/// }
///
/// let folder = tempfile::tempdir().unwrap();
/// let scratch = Scratch::create(&folder.path().join("scratch"))?;
/// let budget = Budget::new(4 << 20);
/// let mut plan = ArrayPlan::new(&budget, &scratch, "an example");
/// let (mut array,) = plan.make((filled(100, 0u32),))?;
/// assert_eq!(on_resident!(array => count_up(array))?, 99);
/// # Ok::<(), heaplake_kit::StageError>(())
/// ```
#[macro_export]
macro_rules! on_resident {
    ($($name:ident),+ => $body:expr) => {{
        use $crate::array::Residency as _;
        if let ($(Some($name),)+) = ($($name.resident(),)+) {
            $body
        } else {
            $(let $name = $name.anywhere();)+
            $body
        }
    }};
}
