//! Tests of refused comparisons and unusual runs.

use super::made::{Made, MadeRun, compared, folder, rows};
use heaplake_kit::StageError;
use std::fs;
use std::path::Path;

const ENOUGH: u64 = 128 << 20;

fn nodes(ids: &[u64]) -> Vec<Made> {
    ids.iter().map(|&id| Made { id, shallow: 8, retained: 8, ..Made::default() }).collect()
}

fn write(folder: &Path, name: &str, format: &str) {
    let nodes = nodes(&[1, 2, 3]);
    MadeRun { format, ..MadeRun::v8(&[",A"], &nodes) }.write(&folder.join(name));
}

/// Error and advice, one line each.
fn refusal(folder: &Path, stable_ids: bool) -> (String, String) {
    let error = compared(folder, stable_ids, ENOUGH, 1).unwrap_err();
    assert!(matches!(error, StageError::Refused { .. }), "{error:?}");
    let (said, advice) = (error.to_string(), error.advice());
    assert!(!said.contains('\n') && !advice.contains('\n'));
    (said, advice)
}

#[test]
fn addresses_are_no_identity() {
    let folder = folder();
    for name in ["base", "target"] {
        write(folder.path(), name, "hprof");
    }
    let (said, advice) = refusal(folder.path(), false);
    assert!(said.contains("addresses") && said.contains("hprof") && advice.contains("--stable-ids"), "{said} {advice}");
    assert_eq!(compared(folder.path(), true, ENOUGH, 1).unwrap().total.kept_count, 3);
    for name in ["base", "target"] {
        write(folder.path(), name, "dotnet-nettrace");
    }
    let (said, advice) = refusal(folder.path(), false);
    assert!(said.contains("replay") && advice.contains("--tracks"), "{said} {advice}");
}

#[test]
fn formats_must_be_the_same() {
    let folder = folder();
    write(folder.path(), "base", "v8-heapsnapshot");
    write(folder.path(), "target", "hprof");
    let (said, _) = refusal(folder.path(), true);
    assert!(said.contains("hprof") && said.contains("v8-heapsnapshot"), "{said}");
}

#[test]
fn runs_must_have_their_tables() {
    let folder = folder();
    write(folder.path(), "base", "v8-heapsnapshot");
    let (said, _) = refusal(folder.path(), false);
    assert!(said.contains("target: no run"), "{said}");
    for table in ["nodes", "classes"] {
        write(folder.path(), "target", "v8-heapsnapshot");
        fs::remove_file(folder.path().join(format!("target/{table}.parquet"))).unwrap();
        let (said, advice) = refusal(folder.path(), false);
        assert!(said.contains(&format!("no table {table}")) && advice.contains(table), "{said} {advice}");
    }
}

#[test]
fn damaged_tables_are_errors() {
    let folder = folder();
    write(folder.path(), "base", "v8-heapsnapshot");
    let other = nodes(&[1]);
    MadeRun::v8(&[",B"], &other).write(&folder.path().join("target"));
    // A node of a class missing from the table of classes.
    let lost = [Made { id: 1, class: 1, shallow: 8, ..Made::default() }];
    let made = folder.path().join("made");
    MadeRun::v8(&[",A", ",B"], &lost).write(&made);
    fs::copy(made.join("nodes.parquet"), folder.path().join("target/nodes.parquet")).unwrap();
    let error = compared(folder.path(), false, ENOUGH, 1).unwrap_err();
    assert!(error.to_string().contains("class_id 1"), "{error}");
    fs::write(folder.path().join("target/nodes.parquet"), "PAR1").unwrap();
    assert!(matches!(compared(folder.path(), false, ENOUGH, 1), Err(StageError::Table { .. })));
    assert!(!folder.path().join("out/.heaplake-objects").exists());
}

#[test]
fn a_budget_that_is_too_small_is_said() {
    let folder = folder();
    for name in ["base", "target"] {
        write(folder.path(), name, "v8-heapsnapshot");
    }
    let error = compared(folder.path(), false, 1 << 20, 1).unwrap_err();
    assert!(error.is_resource(), "{error}");
}

#[test]
fn a_run_against_itself_and_ids_that_occur_twice() {
    let folder = folder();
    for (name, ids) in [("base", &[5, 5, 1][..]), ("target", &[5, 1, 5, 5])] {
        MadeRun::v8(&[",A"], &nodes(ids)).write(&folder.path().join(name));
    }
    let answer = compared(folder.path(), false, ENOUGH, 1).unwrap();
    let total = answer.total;
    assert_eq!((total.new_count, total.deleted_count, total.kept_count), (1, 0, 3));
    let objects = rows(folder.path(), "diff_objects.parquet", &["status"], &["id", "base_node", "target_node"]);
    assert_eq!(objects[0], (vec!["new".to_owned()], vec![Some(5), None, Some(3)]));
    fs::remove_dir_all(folder.path().join("target")).unwrap();
    MadeRun::v8(&[",A"], &nodes(&[5, 5, 1])).write(&folder.path().join("target"));
    let answer = compared(folder.path(), false, ENOUGH, 1).unwrap();
    assert!(answer.total.is_none() && answer.grown.is_empty());
}
