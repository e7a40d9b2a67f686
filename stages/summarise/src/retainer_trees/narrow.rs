//! Columns looked up in narrower numbers, where they do not fit in memory as they are.

use bytemuck::Pod;
use heaplake_kit::array_plan::{Filled, column_bytes, filled};
use heaplake_kit::{Array, ColumnReader, Lookup, ReadAt, Scratch, StageError, WriteAt};
use heaplake_schemas::ids::ClassId;
use heaplake_schemas::scratch::Column;

/// A narrower number that most values of `T` fit. The greatest one says that the value does not.
pub(super) trait Narrow<T>: Pod + Eq {
    /// Stands for what does not fit.
    const NONE: Self;
    /// The number that a value fits, if it does.
    fn of(value: T) -> Option<Self>;
    /// The value.
    fn value(self) -> T;
}

/// Nearly all distances of a heap are below 255.
impl Narrow<i32> for u8 {
    const NONE: Self = Self::MAX;

    fn of(value: i32) -> Option<Self> {
        Self::try_from(value).ok().filter(|&narrow| narrow != Self::NONE)
    }

    #[inline]
    fn value(self) -> i32 {
        self.into()
    }
}

/// Few heaps have more than 65,535 classes.
impl Narrow<ClassId> for u16 {
    const NONE: Self = Self::MAX;

    fn of(value: ClassId) -> Option<Self> {
        Self::try_from(value.0).ok().filter(|&narrow| narrow != Self::NONE)
    }

    #[inline]
    fn value(self) -> ClassId {
        ClassId(self.into())
    }
}

/// A column, and its narrow numbers where it was narrowed.
pub(super) struct Narrowed<N, T> {
    narrow: Option<Array<N>>,
    all: Lookup<T>,
}

/// A request for the narrow numbers of a column, if it is to be narrowed.
pub(super) fn narrow_of<N: Narrow<T>, T>(column: Column<T>, is_tight: bool, scratch: &Scratch) -> Option<Filled<N>> {
    let is_narrowed = is_tight && !scratch.is_resident(column);
    is_narrowed.then(|| filled(column_bytes(scratch, column) as usize / size_of::<T>(), N::NONE))
}

impl<N: Narrow<T>, T: Pod> Narrowed<N, T> {
    /// Fills the narrow numbers, with one sequential read.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Scratch`].
    pub fn fill(
        mut narrow: Option<Array<N>>,
        all: Lookup<T>,
        column: Column<T>,
        scratch: &Scratch,
    ) -> Result<Self, StageError> {
        if let Some(narrow) = &mut narrow {
            let mut values = ColumnReader::open(scratch, column)?;
            for at in 0..narrow.count() {
                if let Some(number) = N::of(values.next()?) {
                    narrow.set(at, number)?;
                }
            }
        }
        Ok(Self { narrow, all })
    }

    /// Element `i`.
    ///
    /// # Errors
    /// [`StageError::Io`] when its page cannot be read.
    #[inline]
    pub fn get(&mut self, i: usize) -> Result<T, StageError> {
        if let Some(narrow) = &mut self.narrow {
            let number = narrow.get(i)?;
            if number != N::NONE {
                return Ok(number.value());
            }
        }
        Ok(self.all.get(i)?)
    }

    /// Prefetches element `i`, narrow or not.
    #[inline]
    pub fn prefetch(&self, i: usize) {
        match &self.narrow {
            Some(narrow) => narrow.prefetch(i),
            None => self.all.prefetch(i),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::array_plan::lookup;
    use heaplake_kit::{ArrayPlan, Budget, ColumnWriter};
    use heaplake_schemas::scratch::NO_DISTANCE;

    const DISTANCE: Column<i32> = Column::new("distance");
    const CLASS: Column<ClassId> = Column::new("class");

    fn check<N: Narrow<T>, T: Pod + PartialEq + std::fmt::Debug>(column: Column<T>, values: &[T]) {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let mut writer = ColumnWriter::create(&scratch, column).unwrap();
        values.iter().for_each(|&value| writer.push(value).unwrap());
        writer.finish().unwrap();
        for is_tight in [false, true] {
            let budget = Budget::new(16 << 20);
            let request = (narrow_of::<N, T>(column, is_tight, &scratch), lookup(column));
            let (narrow, all) = ArrayPlan::new(&budget, &scratch, "narrow").make(request).unwrap();
            assert_eq!(narrow.is_some(), is_tight);
            let mut narrowed = Narrowed::fill(narrow, all, column, &scratch).unwrap();
            let found: Vec<T> = (0..values.len()).map(|at| narrowed.get(at).unwrap()).collect();
            assert_eq!(found, values);
        }
    }

    #[test]
    fn every_value_is_found_whether_it_fits_or_not() {
        check::<u8, i32>(DISTANCE, &[0, 1, 254, 255, 256, 70_000, i32::MAX, -1, NO_DISTANCE, 7]);
        check::<u16, ClassId>(CLASS, &[0, 255, 65_534, 65_535, 65_536, u32::MAX, 3].map(ClassId));
    }
}
