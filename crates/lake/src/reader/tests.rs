//! Tables read back equal; errors name their location.

use super::*;
use crate::table::Table;
use arrow::array::{ListArray, StringArray, StructArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields};
use heaplake_kit::stage::Output;
use std::fs;
use std::path::PathBuf;

/// Row n has n, a text or null, and a list of n % 3 structs. Two row groups.
fn table(folder: &Path, rows: u32) -> PathBuf {
    let fields = Fields::from(vec![Field::new("edge", DataType::Utf8, true)]);
    let item = Arc::new(Field::new("item", DataType::Struct(fields.clone()), false));
    let schema = Arc::new(Schema::new(vec![
        Field::new("number", DataType::UInt32, false),
        Field::new("text", DataType::Utf8, true),
        Field::new("path", DataType::List(item.clone()), false),
    ]));
    let output = Output { folder: folder.to_owned(), ..Output::default() };
    let mut table = Table::create(&output, "table.parquet", schema).unwrap();
    for part in [0..rows / 2, rows / 2..rows] {
        let lengths: Vec<usize> = part.clone().map(|row| row as usize % 3).collect();
        let edges: StringArray = (0..lengths.iter().sum::<usize>()).map(|at| Some(format!("edge {at}"))).collect();
        let structs = Arc::new(StructArray::new(fields.clone(), vec![Arc::new(edges)], None));
        let lists = ListArray::new(item.clone(), OffsetBuffer::from_lengths(lengths), structs, None);
        let texts: StringArray =
            part.clone().map(|row| (!row.is_multiple_of(5)).then(|| format!("text {row}"))).collect();
        let numbers = UInt32Array::from_iter_values(part);
        table.write(&[Arc::new(numbers), Arc::new(texts), Arc::new(lists)]).unwrap();
    }
    table.finish().unwrap();
    folder.join("table.parquet")
}

fn numbers(reader: Reader) -> Vec<u32> {
    let mut batches = reader.columns(&["number", "text"]).unwrap();
    let mut numbers = Vec::new();
    while let Some(batch) = batches.batch().unwrap() {
        assert_eq!(batch.first_row(), numbers.len() as u64);
        let (ids, texts) = (batch.u32s("number").unwrap(), batch.texts("text").unwrap());
        for row in 0..batch.len() {
            let id = ids.value(row);
            assert_eq!(value(texts, row).map(str::to_owned), (!id.is_multiple_of(5)).then(|| format!("text {id}")));
        }
        numbers.extend(ids.values());
    }
    numbers
}

#[test]
fn all_rows_the_first_and_certain_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = table(folder.path(), 40_000);
    let open = || Reader::open(&path).unwrap();
    assert_eq!(open().rows(), 40_000);
    assert!(open().has("text") && !open().has("edge"));
    assert_eq!(numbers(open()), (0..40_000).collect::<Vec<_>>());
    assert_eq!(numbers(open().first(50)), (0..50).collect::<Vec<_>>());
    let some = [0, 1, 19_999, 20_000, 20_002, 39_999];
    assert_eq!(numbers(open().only(&some).unwrap()), some);
    assert!(numbers(open().only(&[]).unwrap()).is_empty());
}

#[test]
fn lists_of_structs_are_batches() {
    let folder = tempfile::tempdir().unwrap();
    let path = table(folder.path(), 6);
    let batch = Reader::open(&path).unwrap().columns(&["path"]).unwrap().batch().unwrap().unwrap();
    let elements = batch.elements("path", 2).unwrap();
    assert_eq!(elements.len(), 2);
    assert_eq!(value(elements.texts("edge").unwrap(), 1), Some("edge 2"));
    assert!(batch.elements("path", 0).unwrap().is_empty());
    let problem = |error: StageError| error.to_string().split_once("table: ").unwrap().1.to_owned();
    assert_eq!(problem(elements.u32s("edge").unwrap_err()), "column path.edge: expected UInt32, found Utf8");
    assert_eq!(problem(elements.u32s("node").unwrap_err()), "there is no column path.node");
}

#[test]
fn errors_name_the_file_and_the_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = table(folder.path(), 100);
    let said = |error: StageError| {
        let said = error.to_string();
        assert!(said.starts_with(&path.display().to_string()), "{said}");
        said
    };
    let open = || Reader::open(&path).unwrap();
    assert!(said(open().columns(&["node"]).err().unwrap()).ends_with("there is no column node"));
    assert!(said(open().only(&[5, 100]).err().unwrap()).ends_with("expected a row 100, found 100 rows"));
    let batch = open().columns(&["number", "text"]).unwrap().batch().unwrap().unwrap();
    let wrong = said(batch.u64s("number").unwrap_err());
    assert!(wrong.ends_with("column number: expected UInt64, found UInt32"), "{wrong}");
    assert!(said(batch.elements("text", 0).err().unwrap()).contains("column text: expected a list of structs"));

    assert!(Reader::open_if_present(&folder.path().join("other.parquet")).unwrap().is_none());
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(Reader::open(&path), Err(StageError::Table { .. })));
    fs::remove_file(&path).unwrap();
    assert!(matches!(Reader::open(&path), Err(StageError::Io { .. })));
}

/// Reads all rows.
fn all(path: &Path) -> Result<String, StageError> {
    let mut batches = Reader::open(path)?.columns(&["number", "text", "path"])?;
    let mut rows = String::new();
    while let Some(batch) = batches.batch()? {
        rows += &format!("{:?} {:?}", batch.u32s("number")?, batch.texts("text")?);
        for row in 0..batch.len() {
            rows += &format!(" {:?}", batch.elements("path", row)?.texts("edge")?);
        }
    }
    Ok(rows)
}

#[test]
fn a_flipped_bit_is_an_error_or_changes_no_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = table(folder.path(), 60);
    let (bytes, expected) = (fs::read(&path).unwrap(), all(&path).unwrap());
    let mut found = 0;
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at.wrapping_mul(2_654_435_761) >> 7 & 7);
        fs::write(&path, &flipped).unwrap();
        match all(&path) {
            Ok(rows) => assert!(rows == expected, "byte {at}"),
            Err(error) => {
                assert!(error.to_string().contains("table.parquet"), "{error}");
                found += 1;
            }
        }
    }
    // May be undetected: the first Parquet magic, and the magic of the checksums.
    assert!(found + 12 >= bytes.len(), "{found} of {}", bytes.len());
}
