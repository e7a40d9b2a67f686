//! Random tables of nodes, in memory and as a file.

use super::random::{TEXTS, number, one};
use crate::filter::columns::Cell;
use crate::filter::scan::Nodes;
use crate::filter::terms::{Kind, Origin, TERMS, Term};
use arrow::array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, UInt8Array, UInt32Array, UInt64Array,
};
use heaplake_oracle::SplitMix64;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use tempfile::TempDir;

/// A table: values by column.
pub(super) struct Table {
    pub columns: BTreeMap<&'static str, Vec<Cell>>,
    pub rows: usize,
    folder: TempDir,
}

/// Columns without nulls.
const SET: [&str; 6] = ["node", "class", "kind", "shallow_bytes", "retained_bytes", "dominator"];

impl Table {
    pub(super) fn random(rng: &mut SplitMix64) -> Self {
        let rows = [0, 1, 7, 60, 300][rng.below(5)];
        let mut columns = BTreeMap::new();
        // Sorted columns have row groups whose bounds decide tests.
        for term in &TERMS {
            let (is_sorted, nulls) = (rng.one_in(3), 1 + rng.below(9));
            let cell = |rng: &mut SplitMix64, row: usize| {
                if !SET.contains(&term.column) && rng.one_in(nulls) {
                    return Cell::Null;
                }
                match (term.column, term.kind) {
                    ("node", _) => Cell::Number(row as i128),
                    ("dominator", _) => Cell::Number(rng.below(row + 1) as i128),
                    ("detachedness", _) => Cell::Number(rng.below(3) as i128),
                    ("id", _) => Cell::Number(number(rng).max(0)),
                    ("distance", _) => Cell::Number(if rng.one_in(9) { 100_000_000 } else { rng.below(6) as i128 }),
                    (_, Kind::Flag) => Cell::Flag(rng.one_in(2)),
                    (_, Kind::Text) => Cell::Text((*one(rng, &TEXTS)).to_owned()),
                    (_, Kind::Bytes) => Cell::Number(number(rng).clamp(0, 1 << 40)),
                    (_, Kind::Number) => Cell::Number(rng.below(6) as i128),
                }
            };
            if columns.contains_key(term.column) || term.from == Origin::Length {
                continue;
            }
            let mut cells: Vec<Cell> = (0..rows).map(|row| cell(rng, row)).collect();
            if is_sorted && !["node", "dominator"].contains(&term.column) {
                cells.sort_by(|a, b| a.order(b, false));
            }
            columns.insert(term.column, cells);
        }
        let table = Self { columns, rows, folder: tempfile::tempdir().unwrap() };
        table.write(1 + rng.below(80));
        table
    }

    fn write(&self, group: usize) {
        let columns: Vec<(&str, ArrayRef)> =
            self.columns.iter().map(|(name, cells)| (*name, array(name, cells))).collect();
        let batch =
            RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)));
        let batch = batch.unwrap();
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
        let file = File::create(self.folder.path().join("nodes.parquet")).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    pub(super) fn open(&self) -> Nodes {
        Nodes::open(&self.folder.path().join("nodes.parquet"), Term::all()).unwrap()
    }

    /// Value of a term in a row, computed without the code under test.
    pub(super) fn value(&self, term: Term, row: usize) -> Cell {
        let described = term.described();
        let cell = self.columns[described.column][row].clone();
        match (described.from, cell) {
            (Origin::Length, Cell::Text(text)) => Cell::Number(text.chars().count() as i128),
            (Origin::Detached, Cell::Number(2)) => Cell::Flag(true),
            (Origin::Detached, Cell::Number(1)) => Cell::Flag(false),
            (Origin::Detached, _) => Cell::Null,
            (Origin::Above, Cell::Number(above)) if above == row as i128 => Cell::Null,
            (_, cell) => cell,
        }
    }
}

fn array(name: &str, cells: &[Cell]) -> ArrayRef {
    let number = |cell: &Cell| if let Cell::Number(number) = cell { Some(*number) } else { None };
    let numbers = || cells.iter().map(number);
    let kind = TERMS.iter().find(|term| term.column == name && term.from != Origin::Length).unwrap().kind;
    match (name, kind) {
        ("id", _) => Arc::new(numbers().map(|number| number.map(|number| number as u64)).collect::<UInt64Array>()),
        ("distance", _) => Arc::new(numbers().map(|number| number.map(|number| number as i32)).collect::<Int32Array>()),
        ("detachedness", _) => {
            Arc::new(numbers().map(|number| number.map(|number| number as u8)).collect::<UInt8Array>())
        }
        ("edge_count" | "retainer_count", _) | (_, Kind::Bytes) => {
            Arc::new(numbers().map(|number| number.map(|number| number as i64)).collect::<Int64Array>())
        }
        (_, Kind::Number) => {
            Arc::new(numbers().map(|number| number.map(|number| number as u32)).collect::<UInt32Array>())
        }
        (_, Kind::Text) => {
            let text = |cell: &Cell| if let Cell::Text(text) = cell { Some(text.clone()) } else { None };
            Arc::new(cells.iter().map(text).collect::<StringArray>())
        }
        (_, Kind::Flag) => {
            let flag = |cell: &Cell| if let Cell::Flag(flag) = cell { Some(*flag) } else { None };
            Arc::new(cells.iter().map(flag).collect::<BooleanArray>())
        }
    }
}
