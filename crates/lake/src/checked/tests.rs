//! Detects damage before it is decoded.

use super::*;
use crate::parquet_file::ParquetFile;
use crate::table::Table;
use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow::datatypes::{DataType, Field, Schema};
use heaplake_kit::stage::Output;
use heaplake_kit::storage::Stored;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::ChunkReader;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

fn rows(texts: impl Iterator<Item = String>) -> RecordBatch {
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let numbers: ArrayRef = Arc::new(UInt32Array::from_iter_values(0..texts.len() as u32));
    RecordBatch::try_from_iter([("number", numbers), ("text", texts)]).unwrap()
}

fn by_library(folder: &Path, rows: &RecordBatch) -> PathBuf {
    let path = folder.join("library.parquet");
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(zstd).set_dictionary_enabled(false).build();
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    path
}

fn opened(path: &Path) -> Result<(ParquetFile, Arc<Checked>), ParquetError> {
    ParquetFile::new(Stored::open(path).unwrap()).unwrap().checked()
}

/// Reads all pages of a file.
fn pages(path: &Path) -> Result<usize, String> {
    let (file, checked) = opened(path).map_err(|error| error.to_string())?;
    for page in &checked.pages {
        file.get_bytes(page.start, page.bytes as usize).map_err(|error| error.to_string())?;
    }
    Ok(checked.pages.len())
}

#[test]
fn pages_have_the_checksums_of_the_format_and_our_own() {
    let folder = tempfile::tempdir().unwrap();
    let fields = vec![Field::new("number", DataType::UInt32, false), Field::new("text", DataType::Utf8, false)];
    let output = Output { folder: folder.path().to_owned(), ..Output::default() };
    let mut table = Table::create(&output, "a.parquet", Arc::new(Schema::new(fields))).unwrap();
    table.write(rows((0..100_000).map(|row| format!("text {}", row % 500))).columns()).unwrap();
    table.finish().unwrap();
    let path = folder.path().join("a.parquet");
    let (_, checked) = opened(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert!(checked.pages.len() >= 5, "{:?}", checked.pages);
    for page in &checked.pages {
        let page_bytes = &bytes[page.start as usize..(page.start + page.bytes) as usize];
        assert_eq!(page.sum, Some(crc32fast::hash(page_bytes)));
        let (header, length) = PageHeader::read(page_bytes).unwrap();
        assert_eq!(header.crc, Some(crc32fast::hash(&page_bytes[length..])));
    }
    let mut flipped = bytes;
    let page = checked.pages[1];
    flipped[page.start as usize + 40] ^= 4;
    fs::write(&path, &flipped).unwrap();
    let problem = pages(&path).unwrap_err();
    let name = checked.metadata().row_group(0).column(page.column).column_path().string();
    let place = format!("column {name}, row group 0, page at offset {}: expected CRC-32", page.start);
    assert!(problem.contains(&place), "{problem}");
}

#[test]
fn files_of_the_library_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = by_library(folder.path(), &rows((0..3000).map(|row| format!("text {row}"))));
    assert!(pages(&path).unwrap() >= 2);
    let path = by_library(folder.path(), &rows(std::iter::empty()));
    assert_eq!(pages(&path), Ok(0));
}

#[test]
fn a_page_that_expands_without_bound_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = by_library(folder.path(), &rows(["x".repeat(MOST_PAGE as usize + 1)].into_iter()));
    assert!(fs::metadata(&path).unwrap().len() < 100_000);
    let problem = pages(&path).unwrap_err();
    assert!(problem.contains("column text") && problem.contains("bytes uncompressed"), "{problem}");
    // The same in a file without page locations.
    let rows = rows(["x".repeat(MOST_PAGE as usize + 1)].into_iter());
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_offset_index_disabled(true)
        .set_statistics_enabled(EnabledStatistics::None);
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), rows.schema(), Some(properties.build())).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    let problem = pages(&path).unwrap_err();
    assert!(problem.contains("column text") && problem.contains("bytes uncompressed"), "{problem}");
}

#[test]
fn lengths_that_a_footer_claims_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    // Two billion row groups.
    let lists = [0x15, 2, 0x19, 0x1c, 0x48, 1, b'a', 0x15, 0, 0, 0x16, 0, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7, 0];
    for (footer, length) in [(&lists[..], lists.len() as u32), (&lists[..], u32::MAX), (&lists[..], 1000), (&[], 0)] {
        let parts = [b"PAR1", footer, &length.to_le_bytes(), b"PAR1"];
        fs::write(&path, parts.concat()).unwrap();
        assert!(opened(&path).is_err());
    }
    for content in [&b"PAR1"[..], b"", b"PAR1PAR1", b"ABCDEFGHIJKLMNOP"] {
        fs::write(&path, content).unwrap();
        assert!(opened(&path).is_err());
    }
}
