//! Converts rows of cells into Arrow columns.

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt64Array};
use arrow::datatypes::DataType;
use std::sync::Arc;

/// A cell of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A text.
    Text(Option<String>),
    /// A count or size.
    Number(Option<i64>),
    /// A fingerprint.
    Print(Option<u64>),
    /// A statistic; null if it is not finite.
    Statistic(Option<f64>),
    /// A percentage, which may be infinite.
    Percent(Option<f64>),
    /// A flag.
    Flag(Option<bool>),
}

/// Returns one column of the rows as an Arrow array.
pub(crate) fn column(rows: &[Vec<Cell>], at: usize, data_type: &DataType) -> ArrayRef {
    let cells = rows.iter().map(|row| &row[at]);
    match data_type {
        DataType::Utf8 => Arc::new(cells.map(Cell::text).collect::<StringArray>()),
        DataType::UInt64 => Arc::new(cells.map(Cell::print).collect::<UInt64Array>()),
        DataType::Float64 => Arc::new(cells.map(Cell::statistic).collect::<Float64Array>()),
        DataType::Boolean => Arc::new(cells.map(Cell::flag).collect::<BooleanArray>()),
        _ => Arc::new(cells.map(Cell::number).collect::<Int64Array>()),
    }
}

impl Cell {
    fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { text.as_deref() } else { None }
    }

    fn number(&self) -> Option<i64> {
        if let Self::Number(number) = self { *number } else { None }
    }

    fn print(&self) -> Option<u64> {
        if let Self::Print(print) = self { *print } else { None }
    }

    fn statistic(&self) -> Option<f64> {
        match self {
            Self::Statistic(statistic) => statistic.filter(|number| number.is_finite()),
            Self::Percent(percent) => *percent,
            _ => None,
        }
    }

    fn flag(&self) -> Option<bool> {
        if let Self::Flag(flag) = self { *flag } else { None }
    }
}
