//! Runs of a lake that a rollup cannot read.

use crate::shared::{releases, rollup};
use heaplake_support::lake::{heaplake, read_json};
use serde_json::Value;
use std::fs;

#[test]
fn a_run_that_is_not_seen_is_named_and_the_rest_summed_up() {
    let lake = releases();
    let out = lake.folder().join("out");
    rollup(&lake.path(), &out, &[]);
    let description = lake.path().join("release=1.1/snapshot=run2/run.json");
    let whole = fs::read(&description).unwrap();
    fs::write(&description, &whole[..200]).unwrap();
    let run = |more: &[&str]| {
        let mut command = heaplake();
        command.args(["fleet", "rollup", "--quiet"]).arg(lake.path()).arg("--out").arg(&out).args(more);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let said = || -> Value { read_json(out.join("rollup.json")) };
    let (code, error) = run(&[]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("release=1.1/snapshot=run2: not seen: "), "{error}");
    assert_eq!(said()["missed"].as_array().unwrap().len(), 1);
    let runs: usize = said()["groups"].as_array().unwrap().iter().map(|of| of["runs"].as_array().unwrap().len()).sum();
    assert_eq!(runs, 11);
    heaplake().arg("report").arg(&out).assert().success();
    assert!(fs::read_to_string(out.join("fleet.html")).unwrap().contains("snapshot=run2 is left out"));
    assert_eq!(run(&["--skip-damaged"]).0, Some(0));
    assert_eq!(said().get("missed"), None);
    // A run without one of its tables is missed; once the table is back, so are its rows.
    fs::write(&description, &whole).unwrap();
    let table = description.with_file_name("classes.parquet");
    let rows = fs::read(&table).unwrap();
    fs::remove_file(&table).unwrap();
    let (code, error) = run(&[]);
    assert!(code == Some(1) && error.contains("half deleted, without classes.parquet"), "{error}");
    fs::write(&table, rows).unwrap();
    assert_eq!(run(&[]).0, Some(0));
    let anew = lake.folder().join("anew");
    rollup(&lake.path(), &anew, &[]);
    let groups = |folder: &std::path::Path| -> Value {
        let text = fs::read(folder.join("rollup.json")).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()["groups"].clone()
    };
    assert_eq!(groups(&out), groups(&anew));
}
