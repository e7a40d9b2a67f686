//! Stage `retainer trees table`: all holders of the instances of big classes as a table, with their paths as text.
//!
//! * Computes: names of classes and labels, and the path from the holders of a branch to the instances.
//! * Resident memory: the rows of a row group; of each name the first characters.
//! * Passes over disk: one over the rows.
//! * Worst case: linear in the lengths of all paths.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::retainer_trees`].

use crate::writer;
use arrow::array::{ArrayRef, BooleanArray, Int32Array, StringBuilder, UInt32Array};
use arrow::datatypes::UInt32Type;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{Job, Stage, StageError, Stats};
use heaplake_lake::source::{array, sizes};
use heaplake_paths::chains::cut;
use heaplake_paths::retainer_tree::text::{REST, Trees};
use heaplake_schemas::options::TableName;
use heaplake_schemas::retainer_trees::{KINDS, ROWS as RETAINER_TREES, TABLE, TreeRow};
use heaplake_schemas::scratch::{self as columns, STRINGS};
use std::sync::Arc;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "retainer trees table",
    when: |setting| setting.has(TableName::RetainerTrees),
    reads: &[column(RETAINER_TREES), column(columns::CLASS_NAME), texts(STRINGS)],
    fixed: 40 << 20,
    passes: "branches once",
    run,
    ..Stage::NEW
};

/// Rows of a row group.
const ROWS: usize = 1 << 12;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let context = job.context;
    let trees = Trees::open(job.scratch)?;
    context.progress.begin(STAGE.name, trees.rows().len() as u64);
    let _rows = context.budget.reserve("retainer trees table: paths", 32 << 20)?;
    let mut table = writer::create(job, &TABLE)?;
    for (group, rows) in trees.rows().chunks(ROWS).enumerate() {
        context.step(rows.len() as u64)?;
        table.write(&arrays(group * ROWS, rows, &trees))?;
    }
    writer::finish(job, table)
}

fn arrays(first: usize, rows: &[TreeRow], trees: &Trees) -> [ArrayRef; 21] {
    let numbers = |of: fn(&TreeRow) -> u32| array::<UInt32Type>(rows.iter().map(of).collect());
    let bytes = |of: fn(&TreeRow) -> u64| sizes(rows.iter().map(of).collect());
    let is_rest = |row: &TreeRow| row.kind == REST;
    let parents = rows.iter().map(|row| Some(row.parent).filter(|&parent| parent != u32::MAX));
    let distances = rows.iter().map(|row| Some(row.distance).filter(|&distance| distance != i32::MAX));
    let texts: Vec<String> = (first..first + rows.len()).map(|at| trees.text(at)).collect();
    [
        array::<UInt32Type>((first as u32..(first + rows.len()) as u32).collect()),
        numbers(|row| row.class_id),
        strings(rows.iter().map(|row| Some(trees.class(row.class_id)))),
        bytes(|row| row.looked_at),
        Arc::new(parents.collect::<UInt32Array>()),
        numbers(|row| row.level),
        strings(rows.iter().map(|row| Some(KINDS[row.kind as usize]))),
        strings(rows.iter().map(|row| (!is_rest(row)).then(|| cut(trees.class(row.holder_class))))),
        strings(rows.iter().map(|row| if is_rest(row) { None } else { trees.edge(row).map(cut) })),
        strings(texts.iter().map(Some)),
        bytes(|row| row.merged),
        bytes(|row| row.holders),
        numbers(|row| row.example_node),
        Arc::new(distances.collect::<Int32Array>()),
        bytes(|row| row.count),
        bytes(|row| row.shallow_bytes),
        bytes(|row| row.retained_bytes),
        bytes(|row| row.exclusive_count),
        bytes(|row| row.exclusive_shallow_bytes),
        bytes(|row| row.exclusive_retained_bytes),
        Arc::new(BooleanArray::from(rows.iter().map(|row| row.is_cut != 0).collect::<Vec<bool>>())),
    ]
}

fn strings<T: AsRef<str>>(texts: impl Iterator<Item = Option<T>>) -> ArrayRef {
    let mut builder = StringBuilder::new();
    texts.for_each(|text| builder.append_option(text));
    Arc::new(builder.finish())
}
