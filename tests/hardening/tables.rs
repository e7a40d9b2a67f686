//! Tables of a lake with damage that a Parquet reader does not expect.

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use heaplake_support::lake::{Lake, diagnostic, heaplake, read_json};
use heaplake_support::table::Table;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run of an older version, to be damaged.
fn old_run(lake: &Lake) -> (PathBuf, PathBuf) {
    let whole =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/version-2/lake/release=1.4/snapshot=whole");
    let run = lake.folder().join("snapshot=whole");
    fs::create_dir(&run).unwrap();
    for entry in fs::read_dir(&whole).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), run.join(entry.file_name())).unwrap();
    }
    (whole, run)
}

/// Updates the entry of a table in `run.json`.
fn list(run: &Path, file: &str) {
    let path = run.join("run.json");
    let mut said: serde_json::Value = read_json(&path);
    let mut tables = said["tables"].as_array_mut().unwrap().iter_mut();
    let table = tables.find(|table| table["file"] == file).unwrap();
    table["bytes"] = fs::metadata(run.join(file)).unwrap().len().into();
    fs::write(path, said.to_string()).unwrap();
}

#[test]
fn a_page_that_expands_without_bound_is_refused() {
    let lake = Lake::new();
    let (_, run) = old_run(&lake);
    let rows = Table::read(&run, "classes.parquet").0;
    let texts = (0..rows.num_rows()).map(|row| "x".repeat(if row == 0 { 100 << 20 } else { 1 }));
    let texts: ArrayRef = Arc::new(texts.collect::<Vec<_>>().into_iter().map(Some).collect::<StringArray>());
    let mut columns = rows.columns().to_vec();
    columns[rows.schema().index_of("class").unwrap()] = texts;
    let rows = RecordBatch::try_new(rows.schema(), columns).unwrap();
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(zstd).set_dictionary_enabled(false).build();
    let path = run.join("classes.parquet");
    let mut writer = ArrowWriter::try_new(fs::File::create(&path).unwrap(), rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 200_000);
    list(&run, "classes.parquet");
    let mut report = heaplake();
    report.arg("report").arg(&run).args(["--memory", "128MiB", "-o"]).arg(lake.folder().join("page.html"));
    let (cause, _) = diagnostic(&mut report, 1);
    assert!(cause.contains("column class") && cause.contains("bytes uncompressed"), "{cause}");
}

/// The Arrow schema in the file names an invalid type.
#[test]
fn a_table_whose_arrow_schema_is_damaged_is_read_or_refused() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let lake = Lake::new();
    let (whole, run) = old_run(&lake);
    fs::copy(fixtures.join("hostile/schema-of-no-type.parquet"), run.join("edges.parquet")).unwrap();
    list(&run, "edges.parquet");
    let (page, diff) = (lake.folder().join("page.html"), lake.folder().join("diff"));
    let mut report = heaplake();
    report.arg("report").arg(&run).arg("-o").arg(page);
    let mut compare = heaplake();
    compare.arg("diff").arg(&whole).arg(&run).arg("--out").arg(diff);
    let mut ask = heaplake();
    ask.arg("why").arg(&run).arg("7");
    for mut command in [report, compare, ask] {
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(matches!(output.status.code(), Some(0..=2)), "{:?}: {said}", output.status);
        assert!(!said.contains("panicked"), "{said}");
    }
}
