//! Lakes to roll up, and rollups.

use heaplake_generator::rng::Rng;
use heaplake_lake::seal;
use heaplake_schemas::run;
use heaplake_support::lake::{Lake, heaplake, read_json};
use heaplake_support::written::{Class, write};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes a run of a few dozen classes; each run lacks some.
pub(crate) fn run(lake: &Lake, release: &str, name: &str, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut classes = Vec::new();
    for class in 0..40 {
        let (count, retained) = ((rng.draw() % 50) as i64, (rng.draw() % 1_000_000) as i64);
        if !rng.draw().is_multiple_of(4) {
            classes.push(Class::plain(format!("Class{class}"), count, retained));
        }
    }
    let host = format!("host{}", seed % 3);
    write(&lake.path(), (release, name, (!seed.is_multiple_of(5)).then_some(host.as_str())), &classes).unwrap();
}

/// A lake of three releases with four runs each.
pub(crate) fn releases() -> Lake {
    let lake = Lake::new();
    for (at, release) in ["1.0", "1.1", "2.0"].into_iter().enumerate() {
        for number in 0..4 {
            run(&lake, release, &format!("run{number}"), (10 * at + number) as u64);
        }
    }
    lake
}

/// Says that a run was captured so many hours after 1970.
pub(crate) fn taken(lake: &Lake, release: &str, name: &str, hours: i64) {
    let path = heaplake_lake::place::path(&lake.path(), release, name).join(run::FILE);
    let run = run::Run { seal: None, captured_at_us: Some(hours * 3_600_000_000), ..read_json(&path) };
    fs::write(path, seal::sealed(&serde_json::to_string_pretty(&run).unwrap()).0).unwrap();
}

/// Runs `heaplake fleet rollup LAKE --out FOLDER --json` with more options; returns its answer.
pub(crate) fn rollup(lake: &Path, out: &Path, more: &[&str]) -> Value {
    let mut command = heaplake();
    command.args(["fleet", "rollup"]).arg(lake).arg("--out").arg(out).arg("--json").args(more);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The folders of the current groups.
pub(crate) fn groups(folder: &Path) -> Vec<PathBuf> {
    let rollup: Value = read_json(folder.join("rollup.json"));
    let groups = rollup["groups"].as_array().unwrap();
    groups.iter().map(|group| folder.join(group["folder"].as_str().unwrap())).collect()
}

/// All files below a folder with their content.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.insert(path.strip_prefix(folder).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    all
}

/// Fails if two folders differ, and names the file.
pub(crate) fn assert_same(one: &Path, other: &Path) {
    let (one, other) = (files(one), files(other));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (path, bytes) in &one {
        assert!(*bytes == other[path], "{} differs", path.display());
    }
}
