//! Tables whose rows lie in one scratch column: each field of the row is a column of the table.

use arrow::array::{ArrayRef, BooleanArray, TimestampMicrosecondArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{ArrowPrimitiveType, Float64Type, UInt32Type, UInt64Type};
use bytemuck::Pod;
use heaplake_kit::{ColumnReader, Scratch, Stage, StageError};
use heaplake_lake::source::{Source, array, nullable, nullable_sizes, read, sizes};
use heaplake_lake::text::Texts;
use heaplake_schemas::replay::ABSENT;
use heaplake_schemas::scratch::Column;
use std::sync::Arc;

/// A scratch column of rows, and the columns of a table that can be made from it.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, R> {
    scratch: &'a Scratch,
    column: Column<R>,
}

impl<'a, R: Pod + Send> Rows<'a, R> {
    /// The rows of a column.
    #[must_use]
    pub(crate) fn of(scratch: &'a Scratch, column: Column<R>) -> Self {
        Self { scratch, column }
    }

    fn open(self) -> Result<ColumnReader<R>, StageError> {
        ColumnReader::open(self.scratch, self.column)
    }

    /// Number of rows.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub(crate) fn count(self) -> Result<u64, StageError> {
        Ok(self.open()?.remaining())
    }

    /// A column of any type; `of` turns a batch of rows into its values.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(crate) fn arrays(self, of: impl Fn(&[R]) -> ArrayRef + Send + 'a) -> Result<Source<'a>, StageError> {
        let mut rows = self.open()?;
        Ok(Source::values(move |count| Ok(of(&read(&mut rows, count)?))))
    }

    /// A column of numbers without nulls.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(crate) fn numbers<P: ArrowPrimitiveType>(self, of: fn(&R) -> P::Native) -> Result<Source<'a>, StageError>
    where
        P::Native: Send,
    {
        self.arrays(move |rows| array::<P>(rows.iter().map(of).collect()))
    }

    /// A column of ids or addresses of 64 bits.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(crate) fn u64s(self, of: fn(&R) -> u64) -> Result<Source<'a>, StageError> {
        self.numbers::<UInt64Type>(of)
    }

    /// A column of counts or sizes.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(crate) fn sizes(self, of: fn(&R) -> u64) -> Result<Source<'a>, StageError> {
        self.arrays(move |rows| sizes(rows.iter().map(of).collect()))
    }

    /// A column of 32-bit numbers without nulls.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(crate) fn u32s(self, of: fn(&R) -> u32) -> Result<Source<'a>, StageError> {
        self.numbers::<UInt32Type>(of)
    }

    /// A column of addresses; [`ABSENT`] becomes null.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(crate) fn optional_addresses(self, of: fn(&R) -> u64) -> Result<Source<'a>, StageError> {
        self.some::<UInt64Type>(of, |&address| address != ABSENT)
    }

    /// A column of counts or sizes; [`ABSENT`] becomes null.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(crate) fn optional_sizes(self, of: fn(&R) -> u64) -> Result<Source<'a>, StageError> {
        self.arrays(move |rows| {
            let values: Vec<u64> = rows.iter().map(of).collect();
            let valid = BooleanBuffer::collect_bool(values.len(), |row| values[row] != ABSENT);
            nullable_sizes(values, valid)
        })
    }

    /// A column of ids; `u32::MAX` becomes null.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(crate) fn optional_ids(self, of: fn(&R) -> u32) -> Result<Source<'a>, StageError> {
        self.some::<UInt32Type>(of, |&id| id != u32::MAX)
    }

    /// A column of fractions; NaN becomes null.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(crate) fn fractions(self, of: fn(&R) -> f64) -> Result<Source<'a>, StageError> {
        self.some::<Float64Type>(of, |value| !value.is_nan())
    }

    /// A column of times, microseconds since 1970; `i64::MIN` becomes null.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(crate) fn times(self, of: fn(&R) -> i64) -> Result<Source<'a>, StageError> {
        self.arrays(move |rows| {
            let times = rows.iter().map(|row| Some(of(row)).filter(|&time| time != i64::MIN));
            Arc::new(TimestampMicrosecondArray::from_iter(times).with_timezone("UTC"))
        })
    }

    /// A column of truths: 0 is false, 1 true, and `u32::MAX` becomes null.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(crate) fn flags(self, of: fn(&R) -> u32) -> Result<Source<'a>, StageError> {
        self.arrays(move |rows| {
            let flags = rows.iter().map(|row| Some(of(row)).filter(|&flag| flag != u32::MAX).map(|flag| flag == 1));
            Arc::new(BooleanArray::from_iter(flags))
        })
    }

    /// A column of numbers; those that are not `valid` become null.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(crate) fn some<P: ArrowPrimitiveType>(
        self,
        of: fn(&R) -> P::Native,
        valid: fn(&P::Native) -> bool,
    ) -> Result<Source<'a>, StageError>
    where
        P::Native: Send,
    {
        self.arrays(move |rows| {
            let values: Vec<P::Native> = rows.iter().map(of).collect();
            let valid = BooleanBuffer::collect_bool(values.len(), |row| valid(&values[row]));
            nullable::<P>(values, valid)
        })
    }

    /// A column of texts; `of` gives the position of a row's text in `texts`, or `u32::MAX` for null.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(crate) fn texts(self, texts: Texts<'a>, of: fn(&R) -> u32) -> Result<Source<'a>, StageError> {
        Ok(Source::texts(texts, self.positions(of)?))
    }

    /// What gives a position for each of the next rows.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub(crate) fn positions(
        self,
        of: fn(&R) -> u32,
    ) -> Result<impl FnMut(usize) -> Result<Vec<u32>, StageError> + Send + use<R>, StageError> {
        let mut rows = self.open()?;
        Ok(move |count| Ok(read(&mut rows, count)?.iter().map(of).collect()))
    }
}

/// The declaration that all stages with such a table share; each adds its name, its condition and its reads.
pub(crate) const STAGE_OF_ROWS: Stage = Stage { fixed: 8 << 20, passes: "its rows once per column", ..Stage::NEW };
