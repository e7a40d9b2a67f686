//! A column of numbers, times, booleans or texts in a row group, by field type.

use crate::bounds::{PageBounds, index, of_all};
use crate::numbers::{NumberChunk, bytes_of_bits};
use crate::pages::{DataPage, Pages};
use crate::runs;
use crate::words::WordChunk;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, Float64Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType,
    UInt8Type, UInt32Type, UInt64Type,
};
use parquet::basic::{Encoding, Type};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;

/// Integer columns that usually have few distinct values.
const REPETITIVE: [&str; 6] =
    ["class_id", "self_bytes", "shallow_bytes", "retained_bytes", "edge_count", "retainer_count"];

/// A column being written.
pub(crate) enum ValueChunk {
    /// `UInt8`, stored by Parquet in 32 bits.
    U8(NumberChunk<u32>),
    /// `UInt32`.
    U32(NumberChunk<u32>),
    /// `UInt64`.
    U64(NumberChunk<u64>),
    /// `Int32`.
    I32(NumberChunk<i32>),
    /// `Int64`.
    I64(NumberChunk<i64>),
    /// Microseconds.
    Time(NumberChunk<i64>),
    /// `Float64`.
    F64(NumberChunk<f64>),
    /// `Boolean`.
    Flags(FlagChunk),
    /// `Utf8`.
    Words(WordChunk),
}

impl ValueChunk {
    /// Starts a column; `None` for a nested one.
    pub(crate) fn new(field: &Field, column: &ColumnDescPtr) -> Option<Self> {
        let (is_repetitive, column) = (REPETITIVE.contains(&field.name().as_str()), column.clone());
        Some(match field.data_type() {
            DataType::UInt8 => Self::U8(NumberChunk::new(column, true)),
            DataType::UInt32 => Self::U32(NumberChunk::new(column, is_repetitive)),
            DataType::UInt64 => Self::U64(NumberChunk::new(column, is_repetitive)),
            DataType::Int32 => Self::I32(NumberChunk::new(column, is_repetitive)),
            DataType::Int64 => Self::I64(NumberChunk::new(column, is_repetitive)),
            DataType::Timestamp(TimeUnit::Microsecond, _) => Self::Time(NumberChunk::new(column, true)),
            DataType::Float64 => Self::F64(NumberChunk::new(column, true)),
            DataType::Boolean => Self::Flags(FlagChunk { pages: Pages::new(column), bounds: Vec::new() }),
            DataType::Utf8 => Self::Words(WordChunk::new(column)),
            _ => return None,
        })
    }

    /// Appends rows as one page; fails for an array of another type.
    pub(crate) fn write(&mut self, array: &ArrayRef) -> Result<()> {
        let nulls = array.nulls();
        match self {
            Self::U8(chunk) => {
                let numbers: Vec<u32> = of::<UInt8Type>(array)?.values().iter().copied().map(u32::from).collect();
                chunk.write(&numbers, nulls)
            }
            Self::U32(chunk) => chunk.write(of::<UInt32Type>(array)?.values(), nulls),
            Self::U64(chunk) => chunk.write(of::<UInt64Type>(array)?.values(), nulls),
            Self::I32(chunk) => chunk.write(of::<Int32Type>(array)?.values(), nulls),
            Self::I64(chunk) => chunk.write(of::<Int64Type>(array)?.values(), nulls),
            Self::Time(chunk) => chunk.write(of::<TimestampMicrosecondType>(array)?.values(), nulls),
            Self::F64(chunk) => chunk.write(of::<Float64Type>(array)?.values(), nulls),
            Self::Flags(chunk) => chunk.write(array.as_boolean_opt().ok_or_else(|| mistyped(array))?),
            Self::Words(chunk) => chunk.write(array.as_string_opt().ok_or_else(|| mistyped(array))?),
        }
    }

    /// Bytes of pages so far.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::U8(chunk) | Self::U32(chunk) => chunk.bytes(),
            Self::U64(chunk) => chunk.bytes(),
            Self::I32(chunk) => chunk.bytes(),
            Self::I64(chunk) | Self::Time(chunk) => chunk.bytes(),
            Self::F64(chunk) => chunk.bytes(),
            Self::Flags(chunk) => chunk.pages.bytes(),
            Self::Words(chunk) => chunk.bytes(),
        }
    }

    /// Ends the column; returns the bytes of its dictionary and pages, and its metadata.
    pub(crate) fn close(self) -> Result<(Vec<u8>, ColumnCloseResult)> {
        match self {
            Self::U8(chunk) | Self::U32(chunk) => chunk.close(),
            Self::U64(chunk) => chunk.close(),
            Self::I32(chunk) => chunk.close(),
            Self::I64(chunk) | Self::Time(chunk) => chunk.close(),
            Self::F64(chunk) => chunk.close(),
            Self::Flags(chunk) => chunk.close(),
            Self::Words(chunk) => chunk.close(),
        }
    }
}

fn of<P: ArrowPrimitiveType>(array: &ArrayRef) -> Result<&PrimitiveArray<P>> {
    array.as_primitive_opt().ok_or_else(|| mistyped(array))
}

fn mistyped(array: &ArrayRef) -> ParquetError {
    ParquetError::General(format!("a column of another type has {}", array.data_type()))
}

/// A boolean column being written.
pub(crate) struct FlagChunk {
    pages: Pages,
    bounds: Vec<PageBounds<bool>>,
}

impl FlagChunk {
    fn write(&mut self, flags: &BooleanArray) -> Result<()> {
        let (rows, nulls) = (flags.len(), flags.null_count());
        let mut content = Vec::with_capacity(rows / 4 + 64);
        if self.pages.column().max_def_level() > 0 {
            let valid = flags.nulls().into_iter().flat_map(|nulls| bytes_of_bits(nulls.inner()));
            runs::levels(rows, nulls, valid, &mut content);
        }
        let present = match nulls {
            0 => flags.values().clone(),
            _ => flags.iter().flatten().collect::<BooleanBuffer>(),
        };
        content.extend(bytes_of_bits(&present));
        let set = present.count_set_bits();
        let bounds = (!present.is_empty()).then_some((set == present.len(), set > 0));
        self.bounds.push(PageBounds { all_null: present.is_empty(), nulls, bounds });
        self.pages.add(DataPage { content, encoding: Encoding::PLAIN, rows })
    }

    fn close(self) -> Result<(Vec<u8>, ColumnCloseResult)> {
        let (least, most) = of_all(&self.bounds).unzip();
        let nulls = self.bounds.iter().map(|page| page.nulls as u64).sum();
        let index = index(Type::BOOLEAN, &self.bounds, |flag| vec![u8::from(flag)])?;
        self.pages.close(None, Statistics::boolean(least, most, None, Some(nulls), false), index)
    }
}
