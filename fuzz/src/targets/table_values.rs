//! Tables that are valid files with arbitrary rows: swapped rows, nulls, or numbers that lead nowhere.

use super::lake;
use crate::subject::Target;
use arbitrary::{Result, Unstructured};
use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, RecordBatch, StringArray, UInt32Array};
use arrow::compute::{cast, concat_batches, take};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Field, Float64Type, Int32Type, Int64Type, Schema};
use arrow::datatypes::{UInt32Type, UInt64Type};
use heaplake_oracle::SplitMix64;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Tables of any values.
pub(super) const TABLE_VALUES: Target = Target { name: "table_values", run, seeds, words: &[] };

const MOST_ROWS: usize = 60;

/// Texts that may break display or parsing.
const TEXTS: [&str; 8] = ["", "\u{202e}", "\u{0}\n", "<script>", "(", "a > b > c", "Object @ x.js:1:2", "\u{1b}[2J"];

fn seeds() -> Vec<Vec<u8>> {
    let bytes = |seed: u64| {
        let rng = &mut SplitMix64::new(seed);
        [vec![seed as u8], (0..400).map(|_| rng.next_u64() as u8).collect()].concat()
    };
    (0..lake::tables().len() as u64).map(bytes).collect()
}

fn run(data: &[u8]) -> String {
    let Some((&choice, rest)) = data.split_first() else { return String::new() };
    let tables = lake::tables();
    let table = &tables[usize::from(choice) % tables.len()];
    match changed(&mut Unstructured::new(rest), &read(&lake::lake().join(table))) {
        Ok(batch) => lake::read_with(table, &written(&batch), data.len()),
        Err(_) => String::new(),
    }
}

fn read(path: &Path) -> RecordBatch {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = Arc::clone(builder.schema());
    let batches: Vec<RecordBatch> = builder.build().unwrap().map(|batch| batch.unwrap()).collect();
    concat_batches(&schema, &batches).unwrap()
}

fn written(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// Another table with its columns, most with the original values.
fn changed(u: &mut Unstructured<'_>, table: &RecordBatch) -> Result<RecordBatch> {
    let rows = if u.ratio(1, 3)? { u.int_in_range(0..=MOST_ROWS)? } else { table.num_rows().min(MOST_ROWS) };
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in table.schema().fields().iter().zip(table.columns()) {
        if u.ratio(1, 60)? {
            continue;
        }
        let any_rows = u.ratio(1, 3)?;
        let position = |row: usize, u: &mut Unstructured<'_>| -> Result<Option<u32>> {
            let row = if any_rows { u.int_in_range(0..=table.num_rows().max(1) - 1)? } else { row };
            let is_there = row < table.num_rows() && !(any_rows && u.ratio(1, 20)?);
            Ok(is_there.then_some(row as u32))
        };
        let positions = (0..rows).map(|row| position(row, u)).collect::<Result<Vec<_>>>()?;
        let mut column = take(column, &UInt32Array::from(positions), None).unwrap();
        if u.ratio(1, 3)? {
            column = values(u, &column)?;
        }
        if u.ratio(1, 40)? {
            column = cast(&column, &DataType::Utf8).unwrap_or(column);
        }
        let nullable = field.is_nullable() || column.null_count() > 0;
        fields.push(Field::new(field.name(), column.data_type().clone(), nullable));
        columns.push(column);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(|_| arbitrary::Error::IncorrectFormat)
}

/// The same column with some other values.
fn values(u: &mut Unstructured<'_>, column: &ArrayRef) -> Result<ArrayRef> {
    Ok(match column.data_type() {
        DataType::Int64 => numbers::<Int64Type>(u, column, |number| number as i64)?,
        DataType::UInt64 => numbers::<UInt64Type>(u, column, |number| number)?,
        DataType::UInt32 => numbers::<UInt32Type>(u, column, |number| number as u32)?,
        DataType::Int32 => numbers::<Int32Type>(u, column, |number| number as i32)?,
        DataType::Float64 => numbers::<Float64Type>(u, column, f64::from_bits)?,
        DataType::Utf8 => {
            let texts = column.as_string::<i32>();
            let text = |text: Option<&str>, u: &mut Unstructured<'_>| -> Result<Option<String>> {
                let other = TEXTS[u.int_in_range(0..=TEXTS.len() - 1)?];
                Ok(if u.ratio(1, 3)? { Some(other.to_owned()) } else { text.map(str::to_owned) })
            };
            let texts = texts.iter().map(|old| text(old, u)).collect::<Result<Vec<_>>>()?;
            Arc::new(StringArray::from(texts))
        }
        _ => Arc::clone(column),
    })
}

fn numbers<T: ArrowPrimitiveType>(
    u: &mut Unstructured<'_>,
    column: &ArrayRef,
    of: impl Fn(u64) -> T::Native,
) -> Result<ArrayRef> {
    let number = |old: Option<T::Native>, u: &mut Unstructured<'_>| -> Result<Option<T::Native>> {
        Ok(match u.int_in_range(0..=9)? {
            0 => Some(of(u.arbitrary()?)),
            1 => Some(of([u64::MAX, 1 << 63, u64::MAX >> 1, 0xffff_ffff, 0x8000_0000][u.int_in_range(0..=4)?])),
            2 | 3 => Some(of(u.int_in_range(0..=70)?)),
            _ => old,
        })
    };
    let column = column.as_primitive::<T>();
    let numbers = column.iter().map(|old| number(old, u)).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(numbers.into_iter().collect::<PrimitiveArray<T>>()))
}
