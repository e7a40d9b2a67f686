//! A constant or all-null column of a row group: one page for any number of rows.

use crate::pages::{DataPage, Dictionary, Pages};
use crate::runs;
use parquet::basic::{Encoding, Type};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::metadata::ColumnIndexBuilder;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;

/// Maximum bytes of a text in statistics.
const MOST_BOUND: usize = 256;

/// A column being written.
pub(crate) struct ConstantChunk<'a> {
    column: ColumnDescPtr,
    text: Option<&'a str>,
    rows: usize,
}

impl<'a> ConstantChunk<'a> {
    /// Creates a column of nulls of any type, or of one text.
    pub(crate) fn new(column: ColumnDescPtr, text: Option<&'a str>) -> Self {
        Self { column, text, rows: 0 }
    }

    /// Appends rows.
    pub(crate) fn write(&mut self, rows: usize) {
        self.rows += rows;
    }

    /// Ends the column; returns the bytes of its dictionary and page, and its metadata.
    pub(crate) fn close(self) -> Result<(Vec<u8>, ColumnCloseResult)> {
        let Self { column, text, rows } = self;
        let nulls = if text.is_some() { 0 } else { rows };
        let mut content = Vec::new();
        if column.max_def_level() > 0 {
            runs::levels(rows, nulls, std::iter::empty(), &mut content);
        }
        let encoding = match text {
            Some(_) => {
                // All keys are 0.
                content.push(runs::width(1) as u8);
                runs::varint((rows as u64) << 1, &mut content);
                content.push(0);
                Encoding::RLE_DICTIONARY
            }
            None => Encoding::PLAIN,
        };
        let dictionary = text.map(|text| {
            let mut content = Vec::new();
            runs::plain(text, &mut content);
            Dictionary::Plain { content, values: 1 }
        });
        let bound = text.filter(|text| text.len() <= MOST_BOUND);
        let mut index = ColumnIndexBuilder::new(column.physical_type());
        let bytes = || bound.unwrap_or_default().as_bytes().to_vec();
        index.append(text.is_none(), bytes(), bytes(), nulls as i64);
        let index = if text.is_some() == bound.is_some() { Some(index.build()?) } else { None };
        let statistics = statistics(column.physical_type(), bound, nulls as u64);
        let mut pages = Pages::new(column);
        pages.add(DataPage { content, encoding, rows })?;
        pages.close(dictionary, statistics, index)
    }
}

fn statistics(physical: Type, bound: Option<&str>, nulls: u64) -> Statistics {
    let nulls = Some(nulls);
    match physical {
        Type::BOOLEAN => Statistics::boolean(None, None, None, nulls, false),
        Type::INT32 => Statistics::int32(None, None, None, nulls, false),
        Type::INT64 => Statistics::int64(None, None, None, nulls, false),
        Type::DOUBLE => Statistics::double(None, None, None, nulls, false),
        _ => {
            let bound = bound.map(ByteArray::from);
            Statistics::byte_array(bound.clone(), bound, None, nulls, false)
        }
    }
}
