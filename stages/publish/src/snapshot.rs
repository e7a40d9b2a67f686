//! The table `snapshot`: one row that describes the run.
//!
//! It contains the cost of every stage, so it is not a stage itself: the code that commits the run writes it last.

use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Float64Builder, ListArray, MapBuilder, MapFieldNames, StringArray,
    StringBuilder, StructArray, TimestampMicrosecondArray,
};
use arrow::buffer::{BooleanBuffer, OffsetBuffer};
use arrow::datatypes::Field;
use heaplake_kit::stage::Output;
use heaplake_kit::{StageError, Stats};
use heaplake_lake::source::{nullable_sizes, sizes};
use heaplake_lake::table::Table;
use heaplake_schemas::HEAPLAKE_VERSION;
use heaplake_schemas::run::{self, Run, Totals};
use heaplake_schemas::scratch::Metadata;
use heaplake_schemas::snapshot::{TABLE, stage_fields};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The cost of a stage.
#[derive(Clone, Debug)]
pub struct StageTime {
    /// The stage.
    pub name: String,
    /// Wall time.
    pub seconds: f64,
    /// Rows and spilled bytes.
    pub stats: Stats,
}

/// Capture time of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Microseconds since 1970.
    pub at_us: i64,
    /// Source of the time: `input` or `file`.
    pub source: &'static str,
}

impl Captured {
    /// Prefers the time in the input to the modification time of its file.
    pub fn find(told: Option<i64>, changed: Option<SystemTime>) -> Option<Self> {
        let since_1970 = |time: SystemTime| match time.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_micros()).ok(),
            Err(before) => i64::try_from(before.duration().as_micros()).ok().map(|micros| -micros),
        };
        let by_input = told.map(|at_us| Self { at_us, source: "input" });
        by_input.or_else(|| Some(Self { at_us: since_1970(changed?)?, source: "file" }))
    }
}

/// Writes the table.
pub fn write(
    metadata: &Metadata,
    run: &Run,
    totals: &Totals,
    stages: &[StageTime],
    output: &Output,
    captured: Option<Captured>,
) -> Result<run::Table, StageError> {
    let text = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let number = |number: u64| sizes(vec![number]);
    let optional = |number: Option<u64>| {
        nullable_sizes(vec![number.unwrap_or(0)], BooleanBuffer::collect_bool(1, |_| number.is_some()))
    };
    let options = serde_json::to_string(&run.options).unwrap_or_default();
    let source = captured.map(|captured| captured.source);
    let captured = TimestampMicrosecondArray::from(vec![captured.map(|captured| captured.at_us)]).with_timezone("UTC");
    let mut table = Table::create(output, TABLE.file, TABLE.schema())?;
    table.write(&[
        text(&run.source),
        text(&metadata.format),
        Arc::new(StringArray::from(vec![metadata.format_version.as_deref()])),
        number(metadata.input_bytes),
        number(metadata.content_bytes),
        text(&metadata.input_hash),
        number(metadata.node_count),
        number(metadata.edge_count),
        number(metadata.root_count),
        number(metadata.string_count),
        number(totals.shallow_bytes),
        optional(metadata.has_native.then_some(totals.native_bytes)),
        number(totals.reachable_count),
        number(totals.reachable_bytes),
        number(metadata.node_count - totals.reachable_count),
        number(totals.shallow_bytes - totals.reachable_bytes),
        Arc::new(captured),
        Arc::new(StringArray::from(vec![source])),
        Arc::new(StringArray::from(vec![metadata.referents.as_deref()])),
        Arc::new(BooleanArray::from(vec![metadata.partial.is_some()])),
        Arc::new(StringArray::from(vec![metadata.partial.as_deref()])),
        labels(run),
        text(&options),
        text(HEAPLAKE_VERSION),
        Arc::new(Float64Array::from(vec![run.summary.wall_seconds])),
        optional(run.summary.peak_rss_bytes),
        stage_list(stages),
    ])?;
    table.finish()
}

fn labels(run: &Run) -> ArrayRef {
    let names = MapFieldNames { entry: "entries".to_owned(), key: "keys".to_owned(), value: "values".to_owned() };
    let mut map = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for (key, value) in run.options.labels() {
        map.keys().append_value(key);
        map.values().append_value(value);
    }
    // Keys and values were appended in pairs, so the entry is whole.
    let _ = map.append(true);
    Arc::new(map.finish())
}

fn stage_list(stages: &[StageTime]) -> ArrayRef {
    let mut names = StringBuilder::new();
    let mut seconds = Float64Builder::new();
    for stage in stages {
        names.append_value(&stage.name);
        seconds.append_value(stage.seconds);
    }
    let numbers = |of: fn(&Stats) -> u64| sizes(stages.iter().map(|stage| of(&stage.stats)).collect());
    let columns: Vec<ArrayRef> = vec![
        Arc::new(names.finish()),
        Arc::new(seconds.finish()),
        numbers(|stats| stats.rows),
        numbers(|stats| stats.spilled_bytes),
    ];
    let entries = StructArray::new(stage_fields(), columns, None);
    let field = Field::new("item", arrow::datatypes::DataType::Struct(stage_fields()), false);
    Arc::new(ListArray::new(Arc::new(field), OffsetBuffer::from_lengths([stages.len()]), Arc::new(entries), None))
}
