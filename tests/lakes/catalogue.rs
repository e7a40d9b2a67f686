//! The catalogue of a lake: it says what the descriptions say, or does not count.

use crate::common::{add, add_of_day, all, assert_whole, command, describe, json, names};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context};
use heaplake_lake::{catalogue, place};
use heaplake_schemas::run;
use heaplake_support::lake::{Lake, heaplake};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;

/// Runs of three releases, in no order, some with a host.
fn lake(runs: i64) -> Lake {
    let lake = Lake::new();
    for number in 0..runs {
        let (release, name) = (format!("1.{}", number % 3), format!("run{number}"));
        let host = (number % 4 > 0).then(|| format!("web{}", number % 4));
        add_of_day(&lake.path(), (&release, &name, host.as_deref()), number);
    }
    lake
}

fn index(lake: &Lake) -> Value {
    json(command("index").arg(lake.path()), 0)
}

fn segments(lake: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(lake.join("catalogue")).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Everything that commands print of the runs of a lake.
fn answers(lake: &Lake) -> Vec<Value> {
    let chosen = |options: &[&str]| json(command("ls").arg(lake.path()).args(options), 0);
    vec![
        chosen(&[]),
        chosen(&["--release", "1.1"]),
        chosen(&["--label", "host=web*", "--since", "1970-01-05"]),
        json(command("verify").arg(lake.path()), 0),
    ]
}

#[test]
fn answers_are_the_same_with_a_catalogue_and_without() {
    let lake = lake(12);
    let before = answers(&lake);
    assert_eq!(index(&lake)["runs"], 12);
    assert_eq!(segments(&lake.path()).len(), 1);
    assert_eq!(answers(&lake), before);
    // Runs that it lacks are read from their descriptions.
    add(&lake.path(), ("1.0", "late", None), 99);
    assert_eq!(all(&lake.path()).len(), 13);
    assert_eq!(index(&lake)["runs"], 13);
    assert_eq!(segments(&lake.path()).len(), 1, "the former segment is gone");
    json(command("drop").arg(lake.path()).args(["run0", "--yes"]), 0);
    assert_eq!(all(&lake.path()).len(), 12);
    assert_whole(&lake, "with rows of a dropped run");
}

#[test]
fn a_run_that_changed_is_read_from_its_description() {
    let lake = lake(3);
    index(&lake);
    let place = place::path(&lake.path(), "1.0", "run0");
    // As many bytes as before.
    describe(&place, |run| run.summary.shallow_bytes += 1);
    let bytes = |lake: &Lake| json(command("ls").arg(lake.path()), 0)["runs"][0]["heap_bytes"].as_u64().unwrap();
    let changed = bytes(&lake);
    fs::remove_dir_all(lake.path().join("catalogue")).unwrap();
    assert_eq!(bytes(&lake), changed);
    // A file that was added counts, and one that was removed is missed.
    index(&lake);
    let size = |lake: &Lake| json(command("ls").arg(lake.path()), 0)["runs"][0]["disk_bytes"].as_u64().unwrap();
    let before = size(&lake);
    fs::write(place.join("report.html"), "<title>a · heaplake</title>").unwrap();
    assert_eq!(size(&lake), before + 28);
    index(&lake);
    fs::remove_file(place.join("classes.parquet")).unwrap();
    let (path, other) = (place.display().to_string(), place::path(&lake.path(), "1.1", "run1").display().to_string());
    let compared = heaplake().args(["diff", &path, &other]).output().unwrap();
    let said = [compared.stdout, compared.stderr].concat();
    assert!(String::from_utf8_lossy(&said).contains("half deleted"), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn a_run_of_the_catalogue_is_not_opened_and_verify_compares_both() {
    let lake = lake(3);
    index(&lake);
    let before = json(command("ls").arg(lake.path()), 0);
    // Of the same length and time, as no program writes it.
    let path = place::path(&lake.path(), "1.0", "run0").join(run::FILE);
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    describe(path.parent().unwrap(), |run| run.summary.node_count += 1);
    File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    assert_eq!(json(command("ls").arg(lake.path()), 0), before);
    let verified = json(command("verify").arg(lake.path()), 1);
    let problem = verified["runs"][0]["problems"][0].to_string();
    assert!(problem.contains("catalogue") && problem.contains("lake index"), "{problem}");
    index(&lake);
    assert_whole(&lake, "indexed");
    assert_ne!(json(command("ls").arg(lake.path()), 0), before);
}

#[test]
fn a_damaged_catalogue_costs_time_only() {
    let lake = lake(5);
    let before = all(&lake.path());
    index(&lake);
    let segment = segments(&lake.path()).remove(0);
    let mut found = 0;
    for file in ["catalogue_runs.parquet", "catalogue_tables.parquet"] {
        let path = segment.join(file);
        let whole = fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 20) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            fs::write(&path, &damaged).unwrap();
            assert_eq!(all(&lake.path()), before, "{file}, byte {at}");
            found += usize::from(command("verify").arg(lake.path()).output().unwrap().status.code() == Some(1));
            fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(all(&lake.path()), before, "{file}, cut after {at}");
        }
        fs::write(&path, &whole).unwrap();
    }
    // Not each byte matters to readers.
    assert!(found >= 30, "verify finds {found} of 40");
    assert_whole(&lake, "mended");
    fs::write(lake.path().join("catalogue/segment-00005-0123456789abcdef"), "no folder").unwrap();
    fs::write(lake.path().join("catalogue/notes.txt"), "of the user").unwrap();
    assert_eq!(all(&lake.path()), before);
}

#[test]
fn segments_of_single_runs_are_merged() {
    let lake = Lake::new();
    for number in 0..70 {
        let place = add(&lake.path(), ("1", &format!("run{number}"), None), number);
        catalogue::add(&lake.path(), &[place], &lake.path()).unwrap();
        let most = segments(&lake.path()).len();
        assert!(most <= 2 * 16, "{most} segments of {number} runs");
    }
    assert!(segments(&lake.path()).len() < 16);
    assert_eq!(all(&lake.path()).len(), 70);
    assert_whole(&lake, "merged");
    // All 70 come from the catalogue: descriptions that cannot be read do not matter.
    let expected = all(&lake.path());
    for name in &expected {
        let path = place::path(&lake.path(), "1", name).join(run::FILE);
        let (bytes, time) = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
        fs::write(&path, vec![b'x'; bytes.len()]).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }
    assert_eq!(all(&lake.path()), expected);
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let lake = Lake::new();
    let path = lake.path();
    thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                for number in 0..20 {
                    let place = add(path, (&format!("{writer}"), &format!("run{number}"), None), number);
                    catalogue::add(path, &[place], path).unwrap();
                }
            });
        }
        scope.spawn(|| {
            let mut seen = 0;
            while seen < 80 {
                let listing = json(command("ls").arg(&path), 0);
                assert_eq!(listing["damaged"], serde_json::json!([]));
                let now = names(&listing, "runs").len();
                assert!(now >= seen, "{now} after {seen}");
                seen = now;
            }
        });
    });
    assert_whole(&lake, "after all");
    let cancel = AtomicBool::new(false);
    let context = Context { budget: Budget::new(0), threads: 2, progress: &Silent, cancel: &cancel };
    let of_lake = catalogue::index(&path, &path, &context).unwrap();
    assert_eq!((of_lake.runs, of_lake.left_out.len()), (80, 0));
}

/// Runs a command killed before its `call`th system call; whether it was killed.
fn killed(arguments: &[&str], call: usize) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    !command.env("HEAPLAKE_FAULT", format!("any:{call}:kill")).status().unwrap().success()
}

#[test]
fn a_killed_index_leaves_a_catalogue_that_says_the_same() {
    let lake = lake(4);
    let (before, path) = (answers(&lake), lake.path().display().to_string());
    index(&lake);
    let mut kills = 0;
    while killed(&["lake", "index", &path], kills + 1) {
        kills += 1;
        assert_eq!(answers(&lake), before, "call {kills}");
    }
    assert!(kills >= 50, "{kills} kills");
    let left: Vec<PathBuf> = segments(&lake.path());
    assert_eq!(left.len(), 1, "{left:?}");
}
