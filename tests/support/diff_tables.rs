//! Writes a comparison's folder for tests: rows with some columns, the others null or filled in.

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt64Array};
use heaplake_kit::stage::Output;
use heaplake_lake::table::Table;
use heaplake_schemas::SCHEMA_VERSION;
use heaplake_schemas::column::Type;
use heaplake_schemas::comparison::{self, ComparedRun, Comparison, Side};
use heaplake_schemas::diff::DiffTable;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Whole(i64),
    Real(f64),
    Text(&'static str),
    Truth(bool),
}

/// A subject's columns with values; measures by `FIELD_MEASURE`, the first one also by `FIELD`.
pub(super) type Row = BTreeMap<String, Cell>;

pub(super) fn row(cells: &[(&str, Cell)]) -> Row {
    cells.iter().map(|(name, cell)| ((*name).to_owned(), cell.clone())).collect()
}

/// The folder of a comparison with `runs` runs on each side.
pub(super) fn comparison(runs: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let side = |name: &str| Side { selection: name.to_owned(), runs: vec![ComparedRun::default(); runs] };
    let (base, target) = (side("lake/base"), side("lake/target"));
    let whole = Comparison { schema_version: SCHEMA_VERSION, base, target, ..Comparison::default() };
    fs::write(folder.path().join(comparison::FILE), serde_json::to_vec(&whole).unwrap()).unwrap();
    folder
}

/// Writes a table of a comparison: a row per measure and subject. Required columns without a value get one.
pub(super) fn write(folder: &Path, table: &DiffTable, subjects: &[Row]) {
    let rows: Vec<(&Row, &str)> =
        subjects.iter().flat_map(|subject| table.measures.iter().map(move |measure| (subject, *measure))).collect();
    let main = table.measures[0];
    let output = Output { folder: folder.to_owned(), ..Output::default() };
    let mut file = Table::create(&output, table.table.file, table.table.schema()).unwrap();
    let columns: Vec<ArrayRef> = table
        .table
        .all_columns()
        .map(|column| -> ArrayRef {
            let of_measure = |measure: &str| format!("{}_{measure}", column.name);
            let is_of_measure = subjects.iter().any(|row| row.contains_key(&of_measure(main)));
            let cells = rows.iter().map(|(row, measure)| {
                let plain = row.get(column.name).filter(|_| *measure == main || !is_of_measure);
                row.get(&of_measure(measure)).or(plain)
            });
            let missing = !column.nullable;
            let whole = |cell: Option<&Cell>| match cell {
                Some(Cell::Whole(whole)) => Some(*whole),
                _ => missing.then_some(1),
            };
            match column.data_type {
                Type::Utf8 if column.name == "measure" => {
                    Arc::new(StringArray::from_iter_values(rows.iter().map(|(_, measure)| measure)))
                }
                Type::Utf8 => Arc::new(StringArray::from_iter(cells.map(|cell| match cell {
                    Some(Cell::Text(text)) => Some(*text),
                    _ => missing.then_some("x"),
                }))),
                Type::Float64 => Arc::new(Float64Array::from_iter(cells.map(|cell| match cell {
                    Some(Cell::Real(real)) => Some(*real),
                    _ => None,
                }))),
                Type::Boolean => Arc::new(BooleanArray::from_iter(cells.map(|cell| match cell {
                    Some(Cell::Truth(truth)) => Some(*truth),
                    _ => None,
                }))),
                Type::UInt64 => Arc::new(UInt64Array::from_iter(cells.map(|cell| whole(cell).map(|id| id as u64)))),
                _ => Arc::new(Int64Array::from_iter(cells.map(whole))),
            }
        })
        .collect();
    file.write(&columns).unwrap();
    file.finish().unwrap();
}
