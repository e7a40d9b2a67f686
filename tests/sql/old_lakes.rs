//! Lakes of earlier versions: missing columns are null, the others have today's types.

use crate::shared::{json, sql};
use heaplake_lake::selection::{self, FoundRun};
use heaplake_schemas::tables;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn old(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/fixtures/version-{version}/lake"))
}

fn rows(version: u32, statement: &str) -> Vec<Value> {
    json(&mut sql(&old(version), &[statement, "--format", "json"]))
}

#[test]
fn views_read_old_files() {
    for version in 1..=3 {
        let runs = selection::runs(&old(version)).unwrap().found;
        for table in tables::ALL.iter().filter(|table| table.runs.have_it()) {
            let listing = |found: &&FoundRun| found.run.table(table.file).is_some();
            let listing: Vec<&FoundRun> = runs.iter().filter(listing).collect();
            // The largest tables of some runs are omitted.
            if listing.is_empty() || listing.iter().any(|found| !found.place.join(table.file).exists()) {
                continue;
            }
            let read = rows(version, &format!("SELECT * FROM {}", table.name));
            let expected: u64 = listing
                .iter()
                .flat_map(|found| &found.run.tables)
                .filter(|listed| &*listed.file == table.file)
                .map(|listed| listed.rows)
                .sum();
            assert_eq!(read.len() as u64, expected, "version {version}, {}", table.name);
        }
    }
}

#[test]
fn columns_that_old_files_lack_are_null() {
    // Version 1 had no signatures, and unsigned sizes.
    let classes = rows(1, "SELECT signature, retained_bytes - 1 AS less FROM classes WHERE retained_bytes = 0 OR true");
    assert!(!classes.is_empty());
    assert!(classes.iter().all(|row| row["signature"].is_null() && row["less"].is_i64()), "{classes:?}");
    let classes = rows(3, "SELECT signature FROM classes");
    assert!(!classes.is_empty() && classes.iter().all(|row| row["signature"].is_string()));
}
