//! Reads tables of runs.

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float64Type, Int32Type, Int64Type, UInt8Type, UInt32Type, UInt64Type,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;

pub struct Table(pub RecordBatch);

impl Table {
    /// Reads `RUN/FILE`.
    pub fn read(run: &Path, file: &str) -> Self {
        let file = File::open(run.join(file)).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let schema = reader.schema().clone();
        let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        Self(concat_batches(&schema, &batches).unwrap())
    }

    /// The rows with this text in a column; for comparisons `measure`.
    pub fn only(&self, column: &str, text: &str) -> Self {
        let is_wanted: Vec<bool> = self.texts(column).iter().map(|found| found.as_deref() == Some(text)).collect();
        Self(filter_record_batch(&self.0, &BooleanArray::from(is_wanted)).unwrap())
    }

    pub fn rows(&self) -> usize {
        self.0.num_rows()
    }

    fn column<P: ArrowPrimitiveType>(&self, name: &str) -> Vec<Option<P::Native>> {
        self.0.column_by_name(name).unwrap_or_else(|| panic!("no column {name}")).as_primitive::<P>().iter().collect()
    }

    /// A column of ids, addresses, sizes or counts.
    pub fn u64s(&self, name: &str) -> Vec<Option<u64>> {
        match self.0.column_by_name(name).map(|column| column.data_type()) {
            Some(DataType::UInt64) => self.column::<UInt64Type>(name),
            _ => self
                .column::<Int64Type>(name)
                .into_iter()
                .map(|number| number.map(|n| u64::try_from(n).unwrap()))
                .collect(),
        }
    }

    /// A column of differences.
    pub fn i64s(&self, name: &str) -> Vec<Option<i64>> {
        self.column::<Int64Type>(name)
    }

    /// A column of statistics.
    pub fn f64s(&self, name: &str) -> Vec<Option<f64>> {
        self.column::<Float64Type>(name)
    }

    /// A column of ordinals.
    pub fn u32s(&self, name: &str) -> Vec<Option<u32>> {
        self.column::<UInt32Type>(name)
    }

    /// A column of distances.
    pub fn i32s(&self, name: &str) -> Vec<Option<i32>> {
        self.column::<Int32Type>(name)
    }

    /// A column of small numbers.
    pub fn u8s(&self, name: &str) -> Vec<Option<u8>> {
        self.column::<UInt8Type>(name)
    }

    /// A column of flags.
    pub fn bools(&self, name: &str) -> Vec<Option<bool>> {
        self.0.column_by_name(name).unwrap().as_boolean().iter().collect()
    }

    /// A column of texts; missing ones are empty.
    pub fn strings(&self, name: &str) -> Vec<String> {
        self.texts(name).into_iter().map(Option::unwrap_or_default).collect()
    }

    pub fn texts(&self, name: &str) -> Vec<Option<String>> {
        let column = self.0.column_by_name(name).unwrap();
        assert_eq!(column.data_type(), &DataType::Utf8);
        column.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
    }
}
