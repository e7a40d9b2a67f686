//! Tables from rows in one scratch column: each field of the row is a column of the table.

use arrow::array::{ArrayRef, BooleanArray, TimestampMicrosecondArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{ArrowPrimitiveType, Float64Type, UInt32Type, UInt64Type};
use bytemuck::Pod;
use heaplake_kit::{ColumnReader, Scratch, Stage, StageError};
use heaplake_lake::source::{Source, array, nullable, nullable_sizes, sizes};
use heaplake_lake::text::Texts;
use heaplake_schemas::replay::ABSENT;
use heaplake_schemas::scratch::Column;
use std::sync::Arc;

/// A scratch column of rows, from which columns of a table are made.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, R> {
    scratch: &'a Scratch,
    column: Column<R>,
}

impl<'a, R: Pod + Send> Rows<'a, R> {
    /// The rows of a column.
    pub(crate) fn of(scratch: &'a Scratch, column: Column<R>) -> Self {
        Self { scratch, column }
    }

    fn open(self) -> Result<ColumnReader<R>, StageError> {
        ColumnReader::open(self.scratch, self.column)
    }

    /// Number of rows.
    pub(crate) fn count(self) -> Result<u64, StageError> {
        Ok(self.open()?.remaining())
    }

    /// Returns a reader of a value for each of the next rows.
    pub(crate) fn values<T: Send>(
        self,
        of: fn(&R) -> T,
    ) -> Result<impl FnMut(usize) -> Result<Vec<T>, StageError> + Send + use<R, T>, StageError> {
        let mut rows = self.open()?;
        Ok(move |count| {
            let mut values = Vec::with_capacity(count);
            while values.len() < count {
                values.extend(rows.next_slice(count - values.len())?.iter().map(of));
            }
            Ok(values)
        })
    }

    /// A column of any type; `of` returns the value of a row, `array` converts many to an array.
    fn arrays<T: Send + 'a>(self, of: fn(&R) -> T, array: fn(Vec<T>) -> ArrayRef) -> Result<Source<'a>, StageError>
    where
        R: 'a,
    {
        let mut values = self.values(of)?;
        Ok(Source::values(move |count| Ok(array(values(count)?))))
    }

    /// Column of row positions, from 0 on.
    pub(crate) fn positions(self) -> Source<'a> {
        let mut next = 0;
        Source::values(move |count| {
            let first = next;
            next += count as u32;
            Ok(array::<UInt32Type>((first..next).collect()))
        })
    }

    /// A column of numbers without nulls.
    pub(crate) fn numbers<P: ArrowPrimitiveType>(self, of: fn(&R) -> P::Native) -> Result<Source<'a>, StageError>
    where
        P::Native: Send,
    {
        self.arrays(of, array::<P>)
    }

    /// A column of ids or addresses of 64 bits.
    pub(crate) fn u64s(self, of: fn(&R) -> u64) -> Result<Source<'a>, StageError> {
        self.numbers::<UInt64Type>(of)
    }

    /// A column of counts or sizes.
    pub(crate) fn sizes(self, of: fn(&R) -> u64) -> Result<Source<'a>, StageError> {
        self.arrays(of, sizes)
    }

    /// A column of 32-bit numbers without nulls.
    pub(crate) fn u32s(self, of: fn(&R) -> u32) -> Result<Source<'a>, StageError> {
        self.numbers::<UInt32Type>(of)
    }

    /// A column of addresses; [`ABSENT`] becomes null.
    pub(crate) fn optional_addresses(self, of: fn(&R) -> u64) -> Result<Source<'a>, StageError> {
        self.some::<UInt64Type>(of, |&address| address != ABSENT)
    }

    /// A column of counts or sizes; [`ABSENT`] becomes null.
    pub(crate) fn optional_sizes(self, of: fn(&R) -> u64) -> Result<Source<'a>, StageError> {
        self.arrays(of, |values| {
            let valid = BooleanBuffer::collect_bool(values.len(), |row| values[row] != ABSENT);
            nullable_sizes(values, valid)
        })
    }

    /// A column of ids; `u32::MAX` becomes null.
    pub(crate) fn optional_ids(self, of: fn(&R) -> u32) -> Result<Source<'a>, StageError> {
        self.some::<UInt32Type>(of, |&id| id != u32::MAX)
    }

    /// A column of fractions; NaN becomes null.
    pub(crate) fn fractions(self, of: fn(&R) -> f64) -> Result<Source<'a>, StageError> {
        self.some::<Float64Type>(of, |value| !value.is_nan())
    }

    /// A column of times, microseconds since 1970; `i64::MIN` becomes null.
    pub(crate) fn times(self, of: fn(&R) -> i64) -> Result<Source<'a>, StageError> {
        self.arrays(of, |times| {
            let times = times.into_iter().map(|time| Some(time).filter(|&time| time != i64::MIN));
            Arc::new(TimestampMicrosecondArray::from_iter(times).with_timezone("UTC"))
        })
    }

    /// A column of booleans: 0 is false, 1 true, and `u32::MAX` becomes null.
    pub(crate) fn flags(self, of: fn(&R) -> u32) -> Result<Source<'a>, StageError> {
        self.arrays(of, |flags| {
            let flags = flags.into_iter().map(|flag| Some(flag).filter(|&flag| flag != u32::MAX).map(|flag| flag == 1));
            Arc::new(BooleanArray::from_iter(flags))
        })
    }

    /// A column of numbers; those that are not `valid` become null.
    pub(crate) fn some<P: ArrowPrimitiveType>(
        self,
        of: fn(&R) -> P::Native,
        valid: fn(&P::Native) -> bool,
    ) -> Result<Source<'a>, StageError>
    where
        P::Native: Send,
    {
        let mut values = self.values(of)?;
        Ok(Source::values(move |count| {
            let values = values(count)?;
            let valid = BooleanBuffer::collect_bool(values.len(), |row| valid(&values[row]));
            Ok(nullable::<P>(values, valid))
        }))
    }

    /// A column of texts; `of` returns the position of a row's text in `texts`, or `u32::MAX` for null.
    pub(crate) fn texts(self, texts: Texts<'a>, of: fn(&R) -> u32) -> Result<Source<'a>, StageError> {
        Ok(Source::texts(texts, self.values(of)?))
    }
}

/// Declaration shared by all stages with such a table; each adds its name, condition and reads.
pub(crate) const STAGE_OF_ROWS: Stage = Stage { fixed: 8 << 20, passes: "its rows once per column", ..Stage::NEW };
