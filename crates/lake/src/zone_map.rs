//! What the metadata of a table says of its row groups.

use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::Result;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use std::ops::Range;
use std::sync::Arc;

/// The rows of each row group.
pub(crate) fn rows(metadata: &ParquetMetaData) -> Vec<Range<u64>> {
    let mut end = 0;
    let group = |rows: i64| {
        let start = end;
        end += u64::try_from(rows).unwrap_or(0);
        start..end
    };
    metadata.row_groups().iter().map(RowGroupMetaData::num_rows).map(group).collect()
}

/// Least and greatest number of a column in a row group, and the number of its nulls; `None` if unknown.
pub(crate) fn least_and_most(metadata: &ArrowReaderMetadata, group: usize, column: &str) -> Option<(i128, i128, u64)> {
    let at = metadata.parquet_schema().columns().iter().position(|one| one.path().string() == column)?;
    let is_unsigned = matches!(
        metadata.schema().column_with_name(column)?.1.data_type(),
        DataType::UInt8 | DataType::UInt32 | DataType::UInt64
    );
    let statistics = metadata.metadata().row_groups().get(group)?.columns().get(at)?.statistics()?;
    let nulls = statistics.null_count_opt()?;
    let (least, most): (i128, i128) = match statistics {
        Statistics::Int32(of) if is_unsigned => ((*of.min_opt()? as u32).into(), (*of.max_opt()? as u32).into()),
        Statistics::Int32(of) => ((*of.min_opt()?).into(), (*of.max_opt()?).into()),
        Statistics::Int64(of) if is_unsigned => ((*of.min_opt()? as u64).into(), (*of.max_opt()? as u64).into()),
        Statistics::Int64(of) => ((*of.min_opt()?).into(), (*of.max_opt()?).into()),
        _ => return None,
    };
    Some((least, most, nulls))
}

/// Metadata with which these columns of texts are read as dictionaries.
pub(crate) fn with_dictionaries(metadata: &ArrowReaderMetadata, columns: &[&str]) -> Result<ArrowReaderMetadata> {
    let dictionary = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let kept = |field: &Arc<Field>| match columns.contains(&field.name().as_str()) {
        true => Arc::new(field.as_ref().clone().with_data_type(dictionary())),
        false => Arc::clone(field),
    };
    let schema = Schema::new(metadata.schema().fields().iter().map(kept).collect::<Vec<_>>());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)
}
