//! Tables whose rows an earlier stage has made: columns from fields.

use crate::source::{Source, array, nullable, read};
use crate::table::Table;
use crate::text::Texts;
use arrow::array::{ArrayRef, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{ArrowPrimitiveType, Float64Type, SchemaRef, UInt32Type, UInt64Type};
use bytemuck::Pod;
use heaplake_kit::{ColumnReader, Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::replay::{ABSENT, Facts};
use heaplake_schemas::run;
use heaplake_schemas::scratch::Column;
use std::path::Path;
use std::sync::Arc;

/// A scratch column of rows.
#[derive(Clone, Copy)]
pub struct Rows<'a, R> {
    scratch: &'a Scratch,
    column: Column<R>,
}

impl<'a, R: Pod + Send> Rows<'a, R> {
    /// The rows of a column.
    #[must_use]
    pub fn of(scratch: &'a Scratch, column: Column<R>) -> Self {
        Self { scratch, column }
    }

    fn open(self) -> Result<ColumnReader<R>, StageError> {
        ColumnReader::open(self.scratch, self.column)
    }

    /// How many there are.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub fn count(self) -> Result<u64, StageError> {
        Ok(self.open()?.remaining())
    }

    /// Any column, from a batch of rows at a time.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub fn arrays(self, of: impl Fn(&[R]) -> ArrayRef + Send + 'a) -> Result<Source<'a>, StageError> {
        let mut rows = self.open()?;
        Ok(Source::values(move |count| Ok(of(&read(&mut rows, count)?))))
    }

    /// Numbers.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub fn numbers<P: ArrowPrimitiveType>(self, of: fn(&R) -> P::Native) -> Result<Source<'a>, StageError>
    where
        P::Native: Send,
    {
        self.arrays(move |rows| array::<P>(rows.iter().map(of).collect()))
    }

    /// Numbers of 64 bits.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub fn u64s(self, of: fn(&R) -> u64) -> Result<Source<'a>, StageError> {
        self.numbers::<UInt64Type>(of)
    }

    /// Numbers of 32 bits.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub fn u32s(self, of: fn(&R) -> u32) -> Result<Source<'a>, StageError> {
        self.numbers::<UInt32Type>(of)
    }

    /// Numbers, null where they are [`ABSENT`].
    ///
    /// # Errors
    /// As [`Self::count`].
    pub fn optional(self, of: fn(&R) -> u64) -> Result<Source<'a>, StageError> {
        self.some::<UInt64Type>(of, |&number| number != ABSENT)
    }

    /// Ids, null where they are `u32::MAX`.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub fn optional_ids(self, of: fn(&R) -> u32) -> Result<Source<'a>, StageError> {
        self.some::<UInt32Type>(of, |&id| id != u32::MAX)
    }

    /// Fractions, null where they are not numbers.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub fn fractions(self, of: fn(&R) -> f64) -> Result<Source<'a>, StageError> {
        self.some::<Float64Type>(of, |value| !value.is_nan())
    }

    /// Numbers, null where they are not valid.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub fn some<P: ArrowPrimitiveType>(
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

    /// Flags.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub fn flags(self, of: fn(&R) -> bool) -> Result<Source<'a>, StageError> {
        self.arrays(move |rows| Arc::new(BooleanArray::from(rows.iter().map(of).collect::<Vec<_>>())))
    }

    /// Texts by their positions, `u32::MAX` for none.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub fn texts(self, texts: Texts<'a>, of: fn(&R) -> u32) -> Result<Source<'a>, StageError> {
        let mut rows = self.open()?;
        Ok(Source::texts(texts, move |count| Ok(read(&mut rows, count)?.iter().map(of).collect())))
    }
}

/// What a stage that writes a table of a replay is given.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// What the trace holds.
    pub facts: &'a Facts,
    /// Where its rows are.
    pub scratch: &'a Scratch,
    /// Where its table goes.
    pub folder: &'a Path,
    /// Budget, progress, cancellation.
    pub context: &'a Context<'a>,
}

impl Job<'_> {
    /// Writes a whole table of columns.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Scratch`], [`StageError::Cancelled`].
    pub fn write(
        &self,
        (file, schema): (&'static str, SchemaRef),
        sources: Vec<Source<'_>>,
        rows: u64,
        stage: &StageInfo,
    ) -> Result<(run::Table, Stats), StageError> {
        self.context.progress.begin(stage.name, rows);
        let mut table = Table::create(self.folder, file, schema, &self.facts.input_hash)?;
        table.fill(sources, rows, self.context)?;
        let table = table.finish()?;
        self.context.progress.end();
        let stats = Stats { rows: table.rows, spilled_bytes: 0 };
        Ok((table, stats))
    }
}

/// What the plan knows of a stage that writes a table of a replay.
#[must_use]
pub const fn stage(name: &'static str, passes: &'static str) -> StageInfo {
    StageInfo::streaming(name, 8 << 20, passes)
}
