//! Columns of a batch as values of one type: texts, whole numbers, flags.

use arrow::array::{
    Array, ArrayAccessor, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray, StringArray,
};
use arrow::datatypes::{DataType, Int32Type, Int64Type, UInt8Type, UInt32Type, UInt64Type};

/// Returns element `row` of a column, unless it is null.
pub fn value<'a, A>(column: &'a A, row: usize) -> Option<<&'a A as ArrayAccessor>::Item>
where
    &'a A: ArrayAccessor,
{
    column.is_valid(row).then(|| column.value(row))
}

/// A column of texts, with each distinct text once where the table has it so.
#[derive(Clone, Copy)]
pub struct Distinct<'a> {
    texts: &'a StringArray,
    keys: Option<&'a PrimitiveArray<Int32Type>>,
}

/// The distinct texts of a column. Keeps them in memory.
pub struct Texts(StringArray);

impl<'a> Distinct<'a> {
    /// Wraps a column of texts.
    pub(crate) fn of(column: &'a ArrayRef) -> Option<Self> {
        if let Some(texts) = column.as_string_opt() {
            return Some(Self { texts, keys: None });
        }
        let dictionary = column.as_dictionary_opt::<Int32Type>()?;
        Some(Self { texts: dictionary.values().as_string_opt()?, keys: Some(dictionary.keys()) })
    }

    /// The distinct texts; `None` if every row has its own.
    pub fn texts(&self) -> Option<Texts> {
        self.keys.map(|_| Texts(self.texts.clone()))
    }

    /// Place of a row's text among the distinct ones; `None` if it is null.
    pub fn place(&self, row: usize) -> Option<usize> {
        match self.keys {
            None => self.texts.is_valid(row).then_some(row),
            Some(keys) => keys.is_valid(row).then(|| keys.value(row) as usize),
        }
    }

    /// Text of a row; `None` if it is null.
    pub fn text(&self, row: usize) -> Option<&str> {
        value(self.texts, self.place(row)?)
    }
}

impl Texts {
    /// Whether these are the texts of a column. Compares addresses, which stay in use as long as this exists.
    pub fn are_of(&self, column: &Distinct<'_>) -> bool {
        let (own, other) = (&self.0, column.texts);
        column.keys.is_some()
            && own.values().ptr_eq(other.values())
            && own.offsets().inner().ptr_eq(other.offsets().inner())
            && own.len() == other.len()
    }

    /// The texts, by place.
    pub fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        self.0.iter()
    }
}

/// A column of whole numbers.
#[derive(Clone, Copy)]
pub enum Numbers<'a> {
    /// Codes.
    U8(&'a PrimitiveArray<UInt8Type>),
    /// Ids and positions.
    U32(&'a PrimitiveArray<UInt32Type>),
    /// Ids and addresses; sizes of tables of schema version 1.
    U64(&'a PrimitiveArray<UInt64Type>),
    /// Distances.
    I32(&'a PrimitiveArray<Int32Type>),
    /// Sizes and counts.
    I64(&'a PrimitiveArray<Int64Type>),
}

impl<'a> Numbers<'a> {
    /// Wraps a column of whole numbers.
    pub(crate) fn of(column: &'a ArrayRef) -> Option<Self> {
        Some(match column.data_type() {
            DataType::UInt8 => Self::U8(column.as_primitive_opt()?),
            DataType::UInt32 => Self::U32(column.as_primitive_opt()?),
            DataType::UInt64 => Self::U64(column.as_primitive_opt()?),
            DataType::Int32 => Self::I32(column.as_primitive_opt()?),
            DataType::Int64 => Self::I64(column.as_primitive_opt()?),
            _ => return None,
        })
    }

    /// Number of a row; `None` if it is null.
    pub fn get(&self, row: usize) -> Option<i128> {
        match *self {
            Self::U8(column) => value(column, row).map(i128::from),
            Self::U32(column) => value(column, row).map(i128::from),
            Self::U64(column) => value(column, row).map(i128::from),
            Self::I32(column) => value(column, row).map(i128::from),
            Self::I64(column) => value(column, row).map(i128::from),
        }
    }

    /// Calls `work` with the number of every row, `None` for nulls.
    pub fn each(&self, work: impl FnMut(Option<i128>)) {
        match *self {
            Self::U8(column) => each(column, work),
            Self::U32(column) => each(column, work),
            Self::U64(column) => each(column, work),
            Self::I32(column) => each(column, work),
            Self::I64(column) => each(column, work),
        }
    }
}

fn each<T: ArrowPrimitiveType<Native: Into<i128>>>(column: &PrimitiveArray<T>, mut work: impl FnMut(Option<i128>)) {
    if column.null_count() == 0 {
        column.values().iter().for_each(|&number| work(Some(number.into())));
    } else {
        column.iter().for_each(|number| work(number.map(Into::into)));
    }
}

/// A column of flags.
#[derive(Clone, Copy)]
pub struct Flags<'a>(&'a BooleanArray);

impl<'a> Flags<'a> {
    /// Wraps a column of flags.
    pub(crate) fn of(column: &'a BooleanArray) -> Self {
        Self(column)
    }

    /// Flag of a row; `None` if it is null.
    pub fn get(&self, row: usize) -> Option<bool> {
        value(self.0, row)
    }
}
