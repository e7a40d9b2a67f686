//! Columns of a table from rows of cells.

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, StringArray, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use std::sync::Arc;

/// A cell of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A text.
    Text(Option<String>),
    /// A count or a size.
    Number(Option<i64>),
    /// A fingerprint.
    Print(u64),
    /// A statistic.
    Statistic(Option<f64>),
    /// A flag.
    Flag(Option<bool>),
    /// Counts or sizes.
    Numbers(Vec<Option<i64>>),
}

/// A column of rows as an array.
#[must_use]
pub fn column(rows: &[Vec<Cell>], at: usize, data_type: &DataType) -> ArrayRef {
    let cells = rows.iter().map(|row| &row[at]);
    match data_type {
        DataType::Utf8 => Arc::new(cells.map(Cell::text).collect::<StringArray>()),
        DataType::UInt64 => Arc::new(cells.map(Cell::print).collect::<UInt64Array>()),
        DataType::Float64 => Arc::new(cells.map(Cell::statistic).collect::<Float64Array>()),
        DataType::Boolean => Arc::new(cells.map(Cell::flag).collect::<BooleanArray>()),
        DataType::List(item) => {
            let lists: Vec<&[Option<i64>]> = cells.map(Cell::numbers).collect();
            let offsets = OffsetBuffer::from_lengths(lists.iter().map(|list| list.len()));
            let items = lists.concat().into_iter().collect::<Int64Array>();
            Arc::new(ListArray::new(item.clone(), offsets, Arc::new(items), None))
        }
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
        if let Self::Print(print) = self { Some(*print) } else { None }
    }

    fn statistic(&self) -> Option<f64> {
        if let Self::Statistic(statistic) = self { statistic.filter(|number| number.is_finite()) } else { None }
    }

    fn flag(&self) -> Option<bool> {
        if let Self::Flag(flag) = self { *flag } else { None }
    }

    fn numbers(&self) -> &[Option<i64>] {
        if let Self::Numbers(numbers) = self { numbers } else { &[] }
    }
}
