//! Tables of a lake that are damaged in ways that a reader of Parquet does not expect.

use crate::lake::{Lake, heaplake};
use std::fs;
use std::path::Path;

/// The schema of Arrow inside the file names a type that is none.
#[test]
fn a_table_whose_arrow_schema_is_damaged_is_read_or_refused() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let (lake, whole) = (Lake::new(), fixtures.join("version-2/lake/release=1.4/snapshot=whole"));
    let run = lake.folder().join("snapshot=whole");
    fs::create_dir(&run).unwrap();
    for entry in fs::read_dir(&whole).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), run.join(entry.file_name())).unwrap();
    }
    fs::copy(fixtures.join("hostile/schema-of-no-type.parquet"), run.join("edges.parquet")).unwrap();
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
