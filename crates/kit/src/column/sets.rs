//! Several columns that are opened, created or completed together.

use super::{ColumnReader, ColumnWriter};
use crate::{Scratch, StageError, StringWriter};
use bytemuck::Pod;
use heaplake_schemas::scratch::Column;

/// A column, or a tuple of columns.
pub trait Columns {
    /// Their readers.
    type Readers;
    /// Their writers.
    type Writers;
    /// See [`open_all`].
    fn open(self, scratch: &Scratch) -> Result<Self::Readers, StageError>;
    /// See [`create_all`].
    fn create(self, scratch: &Scratch) -> Result<Self::Writers, StageError>;
}

/// A writer, an optional writer, or a tuple of these.
pub trait Writers {
    /// See [`finish_all`].
    fn finish(self) -> Result<(), StageError>;
}

/// Opens columns at their beginnings.
pub fn open_all<C: Columns>(scratch: &Scratch, columns: C) -> Result<C::Readers, StageError> {
    columns.open(scratch)
}

/// Creates or truncates columns.
pub fn create_all<C: Columns>(scratch: &Scratch, columns: C) -> Result<C::Writers, StageError> {
    columns.create(scratch)
}

/// Completes columns, in order.
pub fn finish_all(writers: impl Writers) -> Result<(), StageError> {
    writers.finish()
}

impl<T: Pod> Columns for Column<T> {
    type Readers = ColumnReader<T>;
    type Writers = ColumnWriter<T>;

    fn open(self, scratch: &Scratch) -> Result<Self::Readers, StageError> {
        ColumnReader::open(scratch, self)
    }

    fn create(self, scratch: &Scratch) -> Result<Self::Writers, StageError> {
        ColumnWriter::create(scratch, self)
    }
}

impl<T: Pod> Writers for ColumnWriter<T> {
    fn finish(self) -> Result<(), StageError> {
        Self::finish(self).map(drop)
    }
}

impl Writers for StringWriter {
    fn finish(self) -> Result<(), StageError> {
        Self::finish(self).map(drop)
    }
}

impl<W: Writers> Writers for Option<W> {
    fn finish(self) -> Result<(), StageError> {
        self.map_or(Ok(()), W::finish)
    }
}

macro_rules! tuples {
    ($(($($name:ident)+))+) => {$(
        impl<$($name: Columns),+> Columns for ($($name,)+) {
            type Readers = ($($name::Readers,)+);
            type Writers = ($($name::Writers,)+);

            fn open(self, scratch: &Scratch) -> Result<Self::Readers, StageError> {
                let ($($name,)+) = self;
                Ok(($($name.open(scratch)?,)+))
            }

            fn create(self, scratch: &Scratch) -> Result<Self::Writers, StageError> {
                let ($($name,)+) = self;
                Ok(($($name.create(scratch)?,)+))
            }
        }

        impl<$($name: Writers),+> Writers for ($($name,)+) {
            fn finish(self) -> Result<(), StageError> {
                let ($($name,)+) = self;
                $($name.finish()?;)+
                Ok(())
            }
        }
    )+};
}

#[expect(non_snake_case, reason = "the type parameters name the elements, too")]
mod of_tuples {
    use super::{Columns, Scratch, StageError, Writers};

    tuples! {
        (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H)
    }
}
