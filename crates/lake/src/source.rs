//! Sources of table columns, read sequentially.

use crate::text::Texts;
use arrow::array::{ArrayRef, PrimitiveArray};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowPrimitiveType, Int64Type};
use bytemuck::Pod;
use heaplake_kit::{ColumnReader, Scratch, StageError};
use heaplake_schemas::scratch::Column;
use std::sync::Arc;

/// Returns the next rows of a column.
pub type Next<'a, T> = Box<dyn FnMut(usize) -> Result<T, StageError> + Send + 'a>;

/// The source of a column.
pub enum Source<'a> {
    /// Values.
    Values(Next<'a, ArrayRef>),
    /// Positions of texts, [`NONE`](crate::text::NONE) for null.
    Texts(Texts<'a>, Next<'a, Vec<u32>>),
    /// One short text, or null, in all rows.
    Same(Option<&'a str>),
}

impl<'a> Source<'a> {
    /// Creates a source of values.
    pub fn values(next: impl FnMut(usize) -> Result<ArrayRef, StageError> + Send + 'a) -> Self {
        Self::Values(Box::new(next))
    }

    /// Creates a source of texts by position.
    pub fn texts(texts: Texts<'a>, next: impl FnMut(usize) -> Result<Vec<u32>, StageError> + Send + 'a) -> Self {
        Self::Texts(texts, Box::new(next))
    }

    /// Creates a source from a scratch column. Ids have the layout of their numbers.
    pub fn column<T, P>(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError>
    where
        T: Pod + Send + 'a,
        P: ArrowPrimitiveType,
        P::Native: Pod,
    {
        let mut reader = ColumnReader::open(scratch, column)?;
        Ok(Self::values(move |rows| {
            let mut values = vec![<P::Native as bytemuck::Zeroable>::zeroed(); rows];
            reader.read_into(bytemuck::cast_slice_mut(&mut values))?;
            Ok(array::<P>(values))
        }))
    }

    /// Creates a source from a scratch column of counts or sizes.
    pub fn sizes<T: Pod + Into<u64> + Send + 'a>(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        let mut reader = ColumnReader::open(scratch, column)?;
        Ok(Self::values(move |rows| Ok(sizes(read(&mut reader, rows)?.into_iter().map(Into::into).collect()))))
    }

    /// Creates a source of nulls.
    pub fn nothing() -> Self {
        Self::Same(None)
    }
}

/// Converts numbers into an array, without a copy.
pub fn array<P: ArrowPrimitiveType>(values: Vec<P::Native>) -> ArrayRef {
    Arc::new(PrimitiveArray::<P>::new(values.into(), None))
}

/// Converts numbers into an array, null where not `valid`.
pub fn nullable<P: ArrowPrimitiveType>(values: Vec<P::Native>, valid: BooleanBuffer) -> ArrayRef {
    let valid = Some(NullBuffer::new(valid)).filter(|valid| valid.null_count() > 0);
    Arc::new(PrimitiveArray::<P>::new(values.into(), valid))
}

/// Converts counts or sizes into an array, without a copy. Sizes of 2^63 and more, from damaged inputs, become the
/// largest signed number.
pub fn sizes(values: Vec<u64>) -> ArrayRef {
    Arc::new(PrimitiveArray::<Int64Type>::new(signed(values), None))
}

/// As [`sizes`], null where not `valid`.
pub fn nullable_sizes(values: Vec<u64>, valid: BooleanBuffer) -> ArrayRef {
    let valid = Some(NullBuffer::new(valid)).filter(|valid| valid.null_count() > 0);
    Arc::new(PrimitiveArray::<Int64Type>::new(signed(values), valid))
}

fn signed(mut values: Vec<u64>) -> ScalarBuffer<i64> {
    values.iter_mut().for_each(|value| *value = (*value).min(i64::MAX as u64));
    Buffer::from_vec(values).into()
}

/// Reads the next `rows` elements of a scratch column.
pub fn read<T: Pod>(column: &mut ColumnReader<T>, rows: usize) -> Result<Vec<T>, StageError> {
    let mut values = vec![T::zeroed(); rows];
    column.read_into(&mut values)?;
    Ok(values)
}
