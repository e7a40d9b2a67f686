//! Writes columns to a file: the engine's Parquet settings against the raw bytes.

use super::bench::{Bench, Options, Timed, clock};
use anyhow::Result;
use arrow::datatypes::{DataType, Field, Schema, UInt32Type, UInt64Type};
use heaplake_generator::rng::mix;
use heaplake_kit::stage::Output;
use heaplake_lake::source::{Source, array};
use heaplake_lake::table::Table;
use heaplake_lake::text::Texts;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

const ROWS: usize = 1 << 23;
/// Distinct texts, about the classes of a heap.
const TEXTS: u64 = 500;

/// Ordinals, heap-like sizes, and positions of class names.
struct Rows {
    ordinals: Vec<u32>,
    sizes: Vec<u64>,
    classes: Vec<u32>,
    names: Vec<String>,
}

impl Rows {
    fn new(count: u64) -> Self {
        let tail = |row| if mix(2, row).is_multiple_of(100) { mix(3, row) % 65_536 } else { 0 };
        Self {
            ordinals: (0..count as u32).collect(),
            sizes: (0..count).map(|row| 16 + mix(1, row) % 8 * 8 + tail(row)).collect(),
            classes: (0..count).map(|row| (mix(4, row) % TEXTS) as u32).collect(),
            names: (0..TEXTS).map(|number| format!("class number {number}")).collect(),
        }
    }

    fn columns(&self) -> [&[u8]; 3] {
        [bytemuck::cast_slice(&self.ordinals), bytemuck::cast_slice(&self.sizes), bytemuck::cast_slice(&self.classes)]
    }
}

pub(super) fn run(options: &Options) -> Result<Vec<Timed>> {
    let rows = Rows::new(options.amount(ROWS) as u64);
    let bytes = rows.columns().map(<[u8]>::len).iter().sum::<usize>() as f64;
    let bench = Bench::new(0)?;
    let mut stored = 0;
    let own = options.seconds(|| {
        let (seconds, done) = clock(|| write_table(&bench, &rows));
        stored = done?;
        Ok(seconds)
    })?;
    let raw = options.seconds(|| {
        let (seconds, done) = clock(|| write_raw(&bench.folder.path().join("raw"), &rows));
        done?;
        Ok(seconds)
    })?;
    eprintln!("Parquet: {stored} of {bytes} bytes");
    Ok(vec![
        Timed { name: "heaplake's table", amount: bytes, seconds: own, own: None },
        Timed { name: "floor: raw columns", amount: bytes, seconds: raw, own: Some(own) },
    ])
}

fn next<T: Copy>(mut values: &[T]) -> impl FnMut(usize) -> Vec<T> + '_ {
    move |count| {
        let (now, later) = values.split_at(count);
        values = later;
        now.to_vec()
    }
}

fn write_table(bench: &Bench, rows: &Rows) -> Result<u64> {
    let field = |name, data_type| Field::new(name, data_type, false);
    let schema = Schema::new(vec![
        field("node", DataType::UInt32),
        field("bytes", DataType::UInt64),
        field("class", DataType::Utf8),
    ]);
    let (mut ordinals, mut sizes, mut classes) = (next(&rows.ordinals), next(&rows.sizes), next(&rows.classes));
    let sources = vec![
        Source::values(move |count| Ok(array::<UInt32Type>(ordinals(count)))),
        Source::values(move |count| Ok(array::<UInt64Type>(sizes(count)))),
        Source::texts(Texts::Names(&rows.names), move |count| Ok(classes(count))),
    ];
    let output = Output { folder: bench.folder.path().to_owned(), ..Output::default() };
    let mut table = Table::create(&output, "table.parquet", Arc::new(schema))?;
    table.fill(sources, rows.ordinals.len() as u64, &bench.context())?;
    Ok(table.finish()?.bytes)
}

fn write_raw(path: &Path, rows: &Rows) -> Result<()> {
    let mut file = File::create(path)?;
    rows.columns().into_iter().try_for_each(|column| file.write_all(column))?;
    Ok(file.sync_all()?)
}
