//! The sources of the columns of a table, read sequentially.

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

/// A column.
pub enum Source<'a> {
    /// Values.
    Values(Next<'a, ArrayRef>),
    /// Positions of texts, [`NONE`](crate::text::NONE) for null.
    Texts(Texts<'a>, Next<'a, Vec<u32>>),
    /// The same short text in all rows, or null in all.
    Same(Option<&'a str>),
}

impl<'a> Source<'a> {
    /// A source of numeric values.
    pub fn values(next: impl FnMut(usize) -> Result<ArrayRef, StageError> + Send + 'a) -> Self {
        Self::Values(Box::new(next))
    }

    /// A source of texts by position.
    pub fn texts(texts: Texts<'a>, next: impl FnMut(usize) -> Result<Vec<u32>, StageError> + Send + 'a) -> Self {
        Self::Texts(texts, Box::new(next))
    }

    /// A source that returns the elements of a scratch column. Ids have the layout of their numbers.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
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

    /// A source that returns the elements of a scratch column of counts or sizes.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub fn sizes<T: Pod + Into<u64> + Send + 'a>(scratch: &Scratch, column: Column<T>) -> Result<Self, StageError> {
        let mut reader = ColumnReader::open(scratch, column)?;
        Ok(Self::values(move |rows| Ok(sizes(read(&mut reader, rows)?.into_iter().map(Into::into).collect()))))
    }

    /// A source of nulls.
    #[must_use]
    pub fn nothing() -> Self {
        Self::Same(None)
    }
}

/// Numbers as an array, without a copy.
#[must_use]
pub fn array<P: ArrowPrimitiveType>(values: Vec<P::Native>) -> ArrayRef {
    Arc::new(PrimitiveArray::<P>::new(values.into(), None))
}

/// Numbers as an array, null where not `valid`.
#[must_use]
pub fn nullable<P: ArrowPrimitiveType>(values: Vec<P::Native>, valid: BooleanBuffer) -> ArrayRef {
    let valid = Some(NullBuffer::new(valid)).filter(|valid| valid.null_count() > 0);
    Arc::new(PrimitiveArray::<P>::new(values.into(), valid))
}

/// Counts or sizes as an array, without a copy. A damaged input can have sizes of 2^63 and more: they become the
/// largest number with a sign.
#[must_use]
pub fn sizes(values: Vec<u64>) -> ArrayRef {
    Arc::new(PrimitiveArray::<Int64Type>::new(signed(values), None))
}

/// The same, null where not `valid`.
#[must_use]
pub fn nullable_sizes(values: Vec<u64>, valid: BooleanBuffer) -> ArrayRef {
    let valid = Some(NullBuffer::new(valid)).filter(|valid| valid.null_count() > 0);
    Arc::new(PrimitiveArray::<Int64Type>::new(signed(values), valid))
}

fn signed(mut values: Vec<u64>) -> ScalarBuffer<i64> {
    values.iter_mut().for_each(|value| *value = (*value).min(i64::MAX as u64));
    Buffer::from_vec(values).into()
}

/// The next `rows` elements of a scratch column.
///
/// # Errors
/// [`StageError::Io`] or [`StageError::Scratch`].
pub fn read<T: Pod>(column: &mut ColumnReader<T>, rows: usize) -> Result<Vec<T>, StageError> {
    let mut values = vec![T::zeroed(); rows];
    column.read_into(&mut values)?;
    Ok(values)
}
