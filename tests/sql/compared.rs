//! Tables of comparisons, trends and rollups, and their wide forms.

use crate::shared::{fleet, json, rows, sql};
use heaplake_support::lake::{Lake, heaplake};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn ask(folder: &Path, statement: &str) -> Vec<Value> {
    json(&mut sql(folder, &[statement, "--format", "json"]))
}

/// A folder that a command writes about the runs of a lake.
fn written(lake: &Lake, command: &[&str]) -> PathBuf {
    let out = lake.folder().join("written");
    let output = heaplake().args(command).arg("--out").arg(&out).current_dir(lake.folder()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    out
}

/// Each number of the long form equals that of its measure in the wide form.
fn check(folder: &Path, table: &str, number: &str, subject: &str) {
    let long = ask(folder, &format!("SELECT {subject}, measure, {number} FROM {table}"));
    let wide = ask(folder, &format!("SELECT * FROM {table}_wide"));
    assert!(wide.len() > 10 && wide.len() < long.len(), "{} of {}", wide.len(), long.len());
    let keys: Vec<&str> = subject.split(", ").collect();
    for row in &long {
        let same = |other: &&Value| keys.iter().all(|key| other[*key] == row[*key]);
        let found: Vec<&Value> = wide.iter().filter(same).collect();
        assert_eq!(found.len(), 1, "{row}");
        assert_eq!(found[0][format!("{number}_{}", row["measure"].as_str().unwrap())], row[number], "{row}");
    }
}

#[test]
fn comparisons_have_wide_forms() {
    let lake = fleet();
    let releases = rows(&lake, "SELECT DISTINCT release FROM runs ORDER BY release");
    let release = |at: usize| format!("release={}", releases[at]["release"].as_str().unwrap());
    let path = lake.path().display().to_string();
    let diff = written(&lake, &["diff", &release(0), &release(1), "--lake", &path]);
    check(&diff, "diff_classes", "target_sum", "format, fingerprint");
    let damaged = diff.join("diff_chains.parquet");
    fs::write(&damaged, "no table").unwrap();
    let output = sql(&diff, &["SELECT count(*) FROM diff_classes"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("diff_chains.parquet: "), "{said}");
    fs::remove_file(&damaged).unwrap();
    let of_runs = sql(&diff, &["SELECT * FROM runs"]).output().unwrap();
    assert_eq!(of_runs.status.code(), Some(2), "there are no runs in a comparison");
}

#[test]
fn rollups_are_one_view_of_all_groups() {
    let lake = fleet();
    let path = lake.path().display().to_string();
    let rollup = written(&lake, &["fleet", "rollup", &path, "--by", "release"]);
    check(&rollup, "rollup_classes", "sum", "group_folder, fingerprint");
    let groups = ask(&rollup, "SELECT DISTINCT group_folder FROM rollup_classes_wide");
    assert_eq!(groups.len(), 2);
}
