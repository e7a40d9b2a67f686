//! Rows of a table, with columns by name and type.

use crate::cells::{Distinct, Flags, Numbers, value};
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, MapArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray,
};
use arrow::datatypes::{
    DataType, Float64Type, Int32Type, Int64Type, Schema, TimestampMicrosecondType, UInt8Type, UInt32Type, UInt64Type,
};
use heaplake_kit::StageError;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

/// Rows with columns by name. Access by a wrong name or type returns [`StageError::Table`].
pub struct Batch {
    path: Arc<Path>,
    /// The list column whose elements are the rows.
    within: Option<String>,
    rows: RecordBatch,
    first_row: u64,
}

/// A column of a batch.
type Column<'a, T> = Result<&'a PrimitiveArray<T>, StageError>;

impl Batch {
    /// Wraps rows of a table; `first_row` is the number of rows before these.
    pub(crate) fn new(path: Arc<Path>, rows: RecordBatch, first_row: u64) -> Self {
        Self { path, within: None, rows, first_row }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.num_rows()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if the rows have this column.
    pub fn has(&self, column: &str) -> bool {
        self.rows.column_by_name(column).is_some()
    }

    /// Number of rows read before these: the index of the first row if all rows are read.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// A column of 8-bit numbers.
    pub fn u8s(&self, name: &str) -> Column<'_, UInt8Type> {
        self.primitives(name)
    }

    /// A column of 32-bit numbers: ids and ordinals.
    pub fn u32s(&self, name: &str) -> Column<'_, UInt32Type> {
        self.primitives(name)
    }

    /// A column of counts and sizes; unsigned in tables of schema version 1.
    ///
    /// # Errors
    /// [`StageError::Table`], also for a negative number.
    pub fn sizes(&self, name: &str) -> Result<PrimitiveArray<UInt64Type>, StageError> {
        let column = self.column(name)?;
        if let Some(unsigned) = column.as_primitive_opt::<UInt64Type>() {
            return Ok(unsigned.clone());
        }
        if let Some(narrow) = column.as_primitive_opt::<UInt32Type>() {
            return Ok(narrow.unary(u64::from));
        }
        let signed: &PrimitiveArray<Int64Type> = self.primitives(name)?;
        if let Some(negative) = signed.iter().flatten().find(|&number| number < 0) {
            let problem = format!("column {}: expected a count or a size, found {negative}", self.full(name));
            return Err(damaged(&self.path, problem));
        }
        Ok(PrimitiveArray::new(signed.values().inner().clone().into(), signed.nulls().cloned()))
    }

    /// A column of 64-bit numbers: ids and addresses.
    pub fn u64s(&self, name: &str) -> Column<'_, UInt64Type> {
        self.primitives(name)
    }

    /// A column of signed 32-bit numbers: distances.
    pub fn i32s(&self, name: &str) -> Column<'_, Int32Type> {
        self.primitives(name)
    }

    /// A column of signed 64-bit numbers: differences.
    pub fn i64s(&self, name: &str) -> Column<'_, Int64Type> {
        self.primitives(name)
    }

    /// A column of fractions.
    pub fn f64s(&self, name: &str) -> Column<'_, Float64Type> {
        self.primitives(name)
    }

    /// A column of microseconds since 1970.
    pub fn times(&self, name: &str) -> Column<'_, TimestampMicrosecondType> {
        self.primitives(name)
    }

    /// A column of texts.
    pub fn texts(&self, name: &str) -> Result<&StringArray, StageError> {
        let column = self.column(name)?;
        column.as_string_opt().ok_or_else(|| self.mistyped(name, &DataType::Utf8, column))
    }

    /// A column of texts that was asked for with `SharedTable::with_distinct`; also of
    /// others, whose texts may repeat.
    pub fn distinct(&self, name: &str) -> Result<Distinct<'_>, StageError> {
        let column = self.column(name)?;
        Distinct::of(column).ok_or_else(|| self.mistyped(name, &DataType::Utf8, column))
    }

    /// A column of whole numbers of any type.
    pub fn numbers(&self, name: &str) -> Result<Numbers<'_>, StageError> {
        let column = self.column(name)?;
        Numbers::of(column).ok_or_else(|| self.mistyped(name, &"whole numbers", column))
    }

    /// A column of flags, as a value.
    pub fn truths(&self, name: &str) -> Result<Flags<'_>, StageError> {
        self.flags(name).map(Flags::of)
    }

    /// A column of flags.
    pub fn flags(&self, name: &str) -> Result<&BooleanArray, StageError> {
        let column = self.column(name)?;
        column.as_boolean_opt().ok_or_else(|| self.mistyped(name, &DataType::Boolean, column))
    }

    /// A column of maps from text to text.
    pub fn maps(&self, name: &str) -> Result<&MapArray, StageError> {
        let column = self.column(name)?;
        column.as_map_opt().ok_or_else(|| self.mistyped(name, &"a map", column))
    }

    /// Returns a row's list of texts; empty if null.
    pub fn list_of_texts(&self, name: &str, row: usize) -> Result<Vec<String>, StageError> {
        let column = self.column(name)?;
        let mistyped = || self.mistyped(name, &"a list of texts", column);
        let list = column.as_list_opt::<i32>().ok_or_else(mistyped)?;
        let Some(values) = value(list, row) else { return Ok(Vec::new()) };
        let texts = values.as_string_opt::<i32>().ok_or_else(mistyped)?;
        Ok(texts.iter().flatten().map(str::to_owned).collect())
    }

    /// Returns a row's list of structs as a batch: each element is a row, each field a column.
    pub fn elements(&self, name: &str, row: usize) -> Result<Self, StageError> {
        let column = self.column(name)?;
        let list = column.as_list_opt::<i32>().map(|list| list.value(row));
        let structs = list.as_ref().and_then(|list| list.as_struct_opt());
        let structs = structs.ok_or_else(|| self.mistyped(name, &"a list of structs", column))?;
        let schema = Arc::new(Schema::new(structs.fields().clone()));
        let options = RecordBatchOptions::new().with_row_count(Some(structs.len()));
        let name = self.full(name);
        let rows = RecordBatch::try_new_with_options(schema, structs.columns().to_vec(), &options)
            .map_err(|error| damaged(&self.path, format!("column {name}: {error}")))?;
        Ok(Self { path: Arc::clone(&self.path), within: Some(name), rows, first_row: 0 })
    }

    fn primitives<T: ArrowPrimitiveType>(&self, name: &str) -> Column<'_, T> {
        let column = self.column(name)?;
        column.as_primitive_opt().ok_or_else(|| self.mistyped(name, &T::DATA_TYPE, column))
    }

    fn column(&self, name: &str) -> Result<&ArrayRef, StageError> {
        self.rows.column_by_name(name).ok_or_else(|| no_column(&self.path, &self.full(name)))
    }

    fn mistyped(&self, name: &str, wanted: &dyn Display, found: &ArrayRef) -> StageError {
        let name = self.full(name);
        damaged(&self.path, format!("column {name}: expected {wanted}, found {}", found.data_type()))
    }

    /// Qualifies a column name by that of the enclosing list.
    fn full(&self, name: &str) -> String {
        self.within.as_ref().map_or_else(|| name.to_owned(), |within| format!("{within}.{name}"))
    }
}

/// Creates the error of a damaged table, with the problem in one line.
pub fn damaged(path: &Path, problem: impl Display) -> StageError {
    StageError::Table { path: path.to_owned(), problem: problem.to_string().replace(['\n', '\r'], " ") }
}

/// Creates the error of a missing column.
pub(crate) fn no_column(path: &Path, name: &str) -> StageError {
    damaged(path, format!("there is no column {name}"))
}
