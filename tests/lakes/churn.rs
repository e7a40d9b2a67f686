//! Readers while other commands drop and replace the runs that they read: complete answers, and no error.

use crate::common::add;
use heaplake_lake::handles;
use heaplake_lake::place::Place;
use heaplake_lake::selection;
use heaplake_support::lake::{Lake, heaplake};
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Rounds of readers in the fast test.
const ROUNDS: usize = 12;

/// Runs that are replaced, and runs that are dropped and written again.
const REPLACED: [&str; 2] = ["a", "b"];
const DROPPED: [&str; 2] = ["x", "y"];

/// Writes to a lake until stopped: runs constantly replace others of different content.
fn churn(lake: &Path, stop: &AtomicBool) {
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        number = (number + 1) % 50;
        for name in REPLACED {
            add(lake, ("2", name, Some("web")), number);
        }
        for name in DROPPED {
            Place::take(lake, "2", name).unwrap().discard().unwrap();
            add(lake, ("2", name, Some("web")), number);
        }
    }
}

fn text(output: &Output) -> String {
    format!("{:?} {}", output.status, String::from_utf8_lossy(&output.stderr))
}

#[test]
fn readers_need_no_lock() {
    let lake = Lake::new();
    let path = lake.path();
    for name in ["a", "b"] {
        add(&path, ("1", name, Some("web")), 1);
    }
    for name in REPLACED.into_iter().chain(DROPPED) {
        add(&path, ("2", name, Some("web")), 2);
    }
    let replaced = path.join("release=2/snapshot=a");
    let out = lake.folder().join("diff");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| churn(&path, &stop));
        let readers = || {
            for round in 0..ROUNDS {
                for reader in readers_of(&path, &replaced, &out) {
                    let (what, mut command) = reader;
                    let output = command.output().unwrap();
                    if !output.status.success() {
                        return Err(format!("{what} in round {round}: {}", text(&output)));
                    }
                }
                one_version(&path, &replaced)?;
            }
            Ok(())
        };
        let done = readers();
        stop.store(true, Ordering::Relaxed);
        done.unwrap();
    });
}

/// Checks that a comparison reads a run's description and tables of one version: run N has N + 1 objects of the class
/// `ClassN`, and no other class.
fn one_version(lake: &Path, run: &Path) -> Result<(), String> {
    let base = lake.join("release=1/snapshot=a");
    let output = heaplake().arg("diff").arg(base).arg(run).arg("--json").output().unwrap();
    if !output.status.success() {
        return Err(format!("diff: {}", text(&output)));
    }
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = said["target"]["runs"][0]["objects"].as_u64().unwrap() - 1;
    let rows = said["compared"][0]["top"].as_array().unwrap();
    let appeared = rows.iter().filter(|row| row["status"] == "appeared").map(|row| row["keys"]["class"].as_str());
    match appeared.collect::<Vec<_>>()[..] {
        [] if number == 1 => Ok(()),
        [Some(class)] if class == format!("Class{number}") => Ok(()),
        ref other => Err(format!("a description of number {number} and a table of {other:?}")),
    }
}

fn readers_of(lake: &Path, run: &Path, out: &Path) -> Vec<(&'static str, assert_cmd::Command)> {
    let command = |words: &[&str]| {
        let mut command = heaplake();
        command.args(words);
        command
    };
    let folder = lake.parent().unwrap();
    let page = folder.join("a.html");
    let [lake, run, out, page] = [lake, run, out, &page].map(|path| path.display().to_string());
    vec![
        ("diff", command(&["diff", "release=1", "release=2", "--lake", &lake, "--out", &out, "--fail-if", "false"])),
        ("diff of runs", command(&["diff", &run, &run, "--fail-if", "status != \"same\""])),
        ("trend", command(&["trend", "release=1", "release=2", "label.host=web", "--lake", &lake])),
        ("rollup", command(&["fleet", "rollup", &lake, "--quiet"])),
        ("ls", command(&["ls", &lake, "--json"])),
        ("verify", command(&["lake", "verify", &lake])),
        ("show", command(&["show", &run])),
        ("report", command(&["report", &run, "-o", &page])),
    ]
}

#[test]
fn what_is_held_stays_as_it_was() {
    let lake = Lake::new();
    let place = add(&lake.path(), ("1", "a", None), 1);
    let rows = |path: &Path| heaplake_lake::stored::checksum(path, &mut Vec::new(), |_| Ok(())).unwrap().xxh3_64;
    let table = place.join("classes.parquet");
    let before = rows(&table);
    let held = selection::hold(&place).unwrap().unwrap();
    add(&lake.path(), ("1", "a", None), 2);
    assert!(held.found.stands() && !held.found.is_current());
    assert_eq!(selection::open(&place).unwrap().unwrap().run, held.run, "description and tables belong together");
    assert_eq!(rows(&table), before);
    Place::take(&lake.path(), "1", "a").unwrap().discard().unwrap();
    assert_eq!(rows(&table), before);
    drop(held);
    assert!(handles::of(&place).is_none() && selection::open(&place).unwrap().is_none());
}
