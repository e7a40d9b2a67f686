//! Checks a run's tables against the planted answers of a generated snapshot.
//!
//! Tables may exceed memory, so only the checkpoints' rows and the compared columns are read.

use anyhow::{Context, Result, ensure};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type, UInt32Type};
use heaplake_schemas::{classes, nodes};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection, RowSelector};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

/// How far a run agrees with the planted answers.
#[derive(Default)]
pub(crate) struct Verdict {
    /// Nodes and classes that were compared.
    pub compared: usize,
    /// Differences, in words.
    pub wrong: Vec<String>,
}

impl Verdict {
    fn compare<T: PartialEq + std::fmt::Debug>(&mut self, what: impl Fn() -> String, found: &T, planted: &T) {
        self.compared += 1;
        if found != planted {
            self.wrong.push(format!("{}: found {found:?}, planted {planted:?}", what()));
        }
    }
}

#[derive(Deserialize)]
struct Planted {
    checkpoints: Vec<Fact>,
    classes: BTreeMap<String, ClassRow>,
}

/// Sizes and location of a node. Equality compares all of its own fields.
#[derive(Debug, PartialEq, Deserialize)]
struct Fact {
    ordinal: u64,
    shallow_bytes: u64,
    retained_bytes: u64,
    distance: Option<i32>,
    dominator: u32,
}

#[derive(Debug, PartialEq, Deserialize)]
struct ClassRow {
    count: u64,
    shallow_bytes: u64,
    retained_bytes: u64,
    distance: Option<i32>,
}

/// Compares the run in `folder` with the answers in a file.
pub(crate) fn check(folder: &Path, answers: &Path) -> Result<Verdict> {
    let planted = fs::read(answers).with_context(|| answers.display().to_string())?;
    let planted: Planted = serde_json::from_slice(&planted).with_context(|| answers.display().to_string())?;
    let mut verdict = Verdict::default();
    check_nodes(&folder.join(nodes::TABLE.file), &planted.checkpoints, &mut verdict)?;
    check_classes(&folder.join(classes::TABLE.file), &planted.classes, &mut verdict)?;
    Ok(verdict)
}

/// `metadata` ascend by ordinal, which is also the node's row.
fn check_nodes(path: &Path, metadata: &[Fact], verdict: &mut Verdict) -> Result<()> {
    let mut selection = Vec::new();
    let mut next = 0;
    for fact in metadata {
        selection.push(RowSelector::skip(usize::try_from(fact.ordinal)? - next));
        selection.push(RowSelector::select(1));
        next = usize::try_from(fact.ordinal)? + 1;
    }
    let columns = ["node", "shallow_bytes", "retained_bytes", "distance", "dominator"];
    let mut facts_left = metadata.iter();
    for batch in read(path, &columns, Some(RowSelection::from(selection)))? {
        let batch = batch?;
        for (row, planted) in (0..batch.num_rows()).zip(facts_left.by_ref()) {
            let found = Fact {
                ordinal: column(&batch, "node")?.as_primitive::<UInt32Type>().value(row).into(),
                shallow_bytes: size(&batch, "shallow_bytes", row)?,
                retained_bytes: size(&batch, "retained_bytes", row)?,
                distance: distance(&batch, row)?,
                dominator: column(&batch, "dominator")?.as_primitive::<UInt32Type>().value(row),
            };
            verdict.compare(|| format!("node {}", planted.ordinal), &found, planted);
        }
    }
    ensure!(facts_left.next().is_none(), "{} has fewer rows than were planted", path.display());
    Ok(())
}

fn check_classes(path: &Path, planted: &BTreeMap<String, ClassRow>, verdict: &mut Verdict) -> Result<()> {
    let mut found = BTreeMap::new();
    let columns = ["class_key", "count", "shallow_bytes", "retained_bytes", "distance"];
    for batch in read(path, &columns, None)? {
        let batch = batch?;
        let keys = column(&batch, "class_key")?.as_string::<i32>();
        for row in 0..batch.num_rows() {
            let class = ClassRow {
                count: size(&batch, "count", row)?,
                shallow_bytes: size(&batch, "shallow_bytes", row)?,
                retained_bytes: size(&batch, "retained_bytes", row)?,
                distance: distance(&batch, row)?,
            };
            found.insert(keys.value(row).to_owned(), class);
        }
    }
    for (key, row) in planted {
        verdict.compare(|| format!("class {key}"), &found.get(key), &Some(row));
    }
    Ok(())
}

fn size(batch: &RecordBatch, name: &str, row: usize) -> Result<u64> {
    Ok(u64::try_from(column(batch, name)?.as_primitive::<Int64Type>().value(row))?)
}

/// Batches of some columns and rows of a table.
fn read(
    path: &Path,
    columns: &[&str],
    selection: Option<RowSelection>,
) -> Result<impl Iterator<Item = Result<RecordBatch, arrow::error::ArrowError>>> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    let builder = builder.with_projection(mask);
    Ok(match selection {
        Some(selection) => builder.with_row_selection(selection),
        None => builder,
    }
    .build()?)
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a dyn Array> {
    Ok(batch.column_by_name(name).with_context(|| format!("no column {name}"))?.as_ref())
}

fn distance(batch: &RecordBatch, row: usize) -> Result<Option<i32>> {
    let distances = column(batch, "distance")?.as_primitive::<Int32Type>();
    Ok(distances.is_valid(row).then(|| distances.value(row)))
}
