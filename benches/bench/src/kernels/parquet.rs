//! Columns to a file: the engine's Parquet settings against the same bytes as they are.

use super::{Bench, Options, Timed, clock};
use anyhow::Result;
use arrow::array::{Array, ArrayRef, StringArray, UInt32Array, UInt64Array};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, Schema};
use heaplake_generator::rng::mix;
use heaplake_publish::table::{BATCH, Table};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

const ROWS: usize = 1 << 23;
/// Different texts, as a heap has classes.
const TEXTS: u64 = 500;

pub fn run(options: &Options) -> Result<Vec<Timed>> {
    let batches: Vec<Vec<ArrayRef>> =
        (0..options.amount(ROWS)).step_by(BATCH).map(|start| batch(start as u64)).collect();
    let bytes = batches.iter().flatten().flat_map(buffers).map(|buffer| buffer.len()).sum::<usize>() as f64;
    let bench = Bench::new(0)?;
    let folder = bench.folder.path();
    let mut stored = 0;
    let own = options.seconds(|| {
        let (seconds, done) = clock(|| write_table(folder, &batches));
        stored = done?;
        Ok(seconds)
    })?;
    let raw = options.seconds(|| {
        let (seconds, done) = clock(|| write_raw(&folder.join("raw"), &batches));
        done?;
        Ok(seconds)
    })?;
    eprintln!("Parquet: {stored} of {bytes} bytes");
    Ok(vec![
        Timed { name: "heaplake's table", amount: bytes, seconds: own, own: None },
        Timed { name: "floor: raw columns", amount: bytes, seconds: raw, own: Some(own) },
    ])
}

/// Ordinals, sizes as heaps have them, and class names.
fn batch(start: u64) -> Vec<ArrayRef> {
    let rows = start..start + BATCH as u64;
    let size = |row| 16 + mix(1, row) % 8 * 8 + if mix(2, row).is_multiple_of(100) { mix(3, row) % 65_536 } else { 0 };
    let text = |row| format!("class number {}", mix(4, row) % TEXTS);
    vec![
        Arc::new(UInt32Array::from_iter_values(rows.clone().map(|row| row as u32))),
        Arc::new(UInt64Array::from_iter_values(rows.clone().map(size))),
        Arc::new(StringArray::from_iter_values(rows.map(text))),
    ]
}

/// The bytes that make up an array without nulls; buffers are shared, not copied.
fn buffers(array: &ArrayRef) -> Vec<Buffer> {
    array.to_data().buffers().to_vec()
}

fn write_table(folder: &Path, batches: &[Vec<ArrayRef>]) -> Result<u64> {
    let field = |name, data_type| Field::new(name, data_type, false);
    let schema = Schema::new(vec![
        field("node", DataType::UInt32),
        field("bytes", DataType::UInt64),
        field("class", DataType::Utf8),
    ]);
    let mut table = Table::create(folder, "table.parquet", Arc::new(schema), "")?;
    for batch in batches {
        table.write(batch.clone())?;
    }
    Ok(table.finish()?.bytes)
}

fn write_raw(path: &Path, batches: &[Vec<ArrayRef>]) -> Result<()> {
    let mut file = File::create(path)?;
    for array in batches.iter().flatten() {
        for buffer in buffers(array) {
            file.write_all(&buffer)?;
        }
    }
    Ok(file.sync_all()?)
}
