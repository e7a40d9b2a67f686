//! Table `recorded_events`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "recorded_events",
    file: "recorded_events.parquet",
    row: "kind of event in a recording of Java",
    order: "`count` descending, `event`",
    runs: Runs::Replay,
    condition: Some("for recordings of Java"),
    notes: &["As counted by `jfr summary`. Missing events were not enabled."],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("event", Type::Utf8, "Name"),
    required("count", Type::Int64, "Events in whole chunks"),
    required("bytes", Type::Int64, "Their bytes in the recording"),
    required("used", Type::Boolean, "Whether the replay reads them"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the replay writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct RecordedEventRow {
    /// Text id.
    pub event: u32,
    /// 1 if the replay reads them.
    pub used: u32,
    /// Events.
    pub count: u64,
    /// Their sizes, bytes.
    pub bytes: u64,
}
