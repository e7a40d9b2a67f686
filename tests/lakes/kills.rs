//! Drops and merges killed at any system call, system faults, and concurrent readers.

use crate::common::{add, all, assert_whole, command, files};
use heaplake_support::lake::{Lake, answer, heaplake};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Kills of each command in the fast test, and in the long one.
const FEW: usize = 50;
/// Minimum number of system calls of a drop of two runs.
const OF_DROP: usize = 40;

fn binary(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs a command killed before its `call`th system call, if it makes that many; returns whether it was killed.
fn killed(command: &mut Command, call: usize, what: &str) -> bool {
    let status = command.env("HEAPLAKE_FAULT", format!("any:{call}:kill")).status().unwrap();
    assert!(status.success() || status.signal() == Some(9), "{what}: {status:?}");
    !status.success()
}

/// Makes runs `a`, `b` and `c` in a folder.
fn runs(lake: &Path) -> Files {
    for (number, name) in (1..).zip(["a", "b", "c"]) {
        add(lake, ("1", name, None), number);
    }
    files(lake)
}

fn run_of(path: &Path) -> &Path {
    path.parent().unwrap()
}

/// Fails unless each run of a lake is complete or absent.
fn assert_all_or_nothing(lake: &Path, expected: &Files, what: &str) {
    let there = files(lake);
    for (path, content) in expected {
        let has_run = there.keys().any(|file| run_of(file) == run_of(path));
        assert!(there.get(path) == has_run.then_some(content), "{what}: {}", path.display());
    }
    assert!(there.keys().all(|path| expected.contains_key(path)), "{what}: {:?}", there.keys());
}

/// Kills drops before each call until one completes; returns the number of kills.
fn kill_drops(after: impl Fn(&Lake, &str)) -> usize {
    let mut kills = 0;
    for call in 1.. {
        let lake = Lake::new();
        let expected = runs(&lake.path());
        let path = lake.path().display().to_string();
        let what = format!("drop, call {call}");
        let was_killed = killed(&mut binary(&["lake", "drop", &path, "a", "b", "--yes"]), call, &what);
        assert_all_or_nothing(&lake.path(), &expected, &what);
        assert!(all(&lake.path()).contains(&"c".to_owned()), "{what}");
        after(&lake, &what);
        assert_whole(&lake, &what);
        assert_all_or_nothing(&lake.path(), &expected, &what);
        if !was_killed {
            return kills;
        }
        kills += 1;
    }
    kills
}

#[test]
fn a_killed_drop_leaves_the_run_or_what_the_next_command_removes() {
    let kills = kill_drops(|lake, what| {
        // The next command drops nothing, and must leave nothing but runs.
        let status = binary(&["lake", "drop", &lake.path().display().to_string(), "nobody", "--yes"]).status().unwrap();
        assert_eq!(status.code(), Some(2), "{what}");
    });
    eprintln!("{kills} kills of drops survived");
    assert!(kills >= OF_DROP, "{kills}");
}

#[test]
fn a_killed_drop_is_completed_by_the_next_one() {
    let kills = kill_drops(|lake, what| {
        let status = binary(&["lake", "drop", &lake.path().display().to_string(), "[!c]", "--yes"]).status().unwrap();
        // The runs may be gone by now: then nothing has that name.
        assert!(status.success() || status.code() == Some(2), "{what}: {status:?}");
        assert_eq!(all(&lake.path()), ["c"], "{what}");
        assert_eq!(lake.leftovers(), Vec::<PathBuf>::new(), "{what}");
    });
    assert!(kills >= OF_DROP, "{kills}");
}

/// Kills merges before each `step`th call until one completes; returns the number of kills.
fn kill_merges(options: &[&str], copies: bool, step: usize) -> usize {
    let mut kills = 0;
    for call in (1..).step_by(step) {
        let lake = Lake::new();
        let source = lake.folder().join("source");
        let expected = runs(&source);
        let (from, to) = (source.display().to_string(), lake.path().display().to_string());
        let merge = || {
            let mut merge = binary(&["lake", "merge", &from, "--out", &to, "--threads", "1"]);
            merge.args(options);
            merge
        };
        let what = format!("merge {options:?}, copies {copies}, call {call}");
        let kill = format!("any:{call}:kill");
        let fault = if copies { format!("rename:1+:18:.parquet;{kill}") } else { kill };
        let status = merge().env("HEAPLAKE_FAULT", fault).status().unwrap();
        assert!(status.success() || status.signal() == Some(9), "{what}: {status:?}");
        for lake in [&lake.path(), &source] {
            assert_all_or_nothing(lake, &expected, &what);
        }
        let (there, here) = (files(&lake.path()), files(&source));
        assert!(
            expected.keys().all(|path| there.contains_key(path) || here.contains_key(path)),
            "{what}: a run is lost"
        );
        assert!(merge().status().unwrap().success(), "{what}: the second call");
        assert!(files(&lake.path()) == expected, "{what}: not all is in");
        assert_whole(&lake, &what);
        let left = fs::read_dir(&source).unwrap().count();
        assert_eq!(left, usize::from(options.is_empty()), "{what}: the source");
        if status.success() {
            return kills;
        }
        kills += 1;
    }
    kills
}

#[test]
fn a_killed_merge_loses_nothing_and_is_completed_by_the_next_one() {
    let kills = [kill_merges(&[], false, 3), kill_merges(&["--move"], false, 5), kill_merges(&[], true, 7)];
    eprintln!("{kills:?} kills of merges survived");
    assert!(kills.iter().sum::<usize>() >= FEW, "{kills:?}");
}

#[test]
#[ignore = "long"]
fn merges_that_are_killed_before_any_call() {
    for (options, copies) in [(&[][..], false), (&["--move"][..], false), (&["--move"][..], true)] {
        let kills = kill_merges(options, copies, 1);
        eprintln!("{kills} kills of merges survived");
        assert!(kills >= 2 * FEW, "{kills}");
    }
}

#[test]
fn a_merge_that_fails_leaves_what_was() {
    let lake = Lake::new();
    let source = lake.folder().join("source");
    let expected = runs(&source);
    let (from, to) = (source.display().to_string(), lake.path().display().to_string());
    // A full disk while links cannot be made: the first run is merged, the others are not.
    for (fault, code) in [
        ("rename:1+:18:.parquet;write:5+:28", 3),
        ("sync:4+:5", 1),
        ("rename:1+:13:snapshot=c;open:1+:13:snapshot=c", 1),
    ] {
        let status = binary(&["lake", "merge", &from, "--out", &to, "--move"]).env("HEAPLAKE_FAULT", fault).status();
        assert_eq!(status.unwrap().code(), Some(code), "{fault}");
        let (there, here) = (files(&lake.path()), files(&source));
        assert!(
            expected.iter().all(|(path, content)| [&there, &here].iter().any(|lake| lake.get(path) == Some(content)))
        );
        assert_all_or_nothing(&lake.path(), &expected, fault);
    }
    assert!(binary(&["lake", "merge", &from, "--out", &to, "--move"]).status().unwrap().success());
    assert!(files(&lake.path()) == expected);
    assert_whole(&lake, "after all faults");
}

#[test]
fn readers_beside_drops_and_merges_see_whole_runs() {
    let lake = Lake::new();
    let source = lake.folder().join("source");
    runs(&source);
    add(&lake.path(), ("1", "stays", None), 9);
    let (from, to) = (source.display().to_string(), lake.path().display().to_string());
    let changes = std::thread::spawn(move || {
        for _ in 0..12 {
            for words in [&["lake", "merge", &from, "--out", &to][..], &["lake", "drop", &to, "[abc]", "--yes"]] {
                let output = binary(words).stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
                assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
            }
        }
    });
    let mut reads = 0;
    while !changes.is_finished() || reads == 0 {
        for words in [&["lake", "verify"][..], &["ls"]] {
            let answer = answer(heaplake().args(words).arg(lake.path()).arg("--json"));
            let runs = answer["runs"].as_array().unwrap();
            assert!(runs.iter().any(|run| run["path"].as_str().unwrap().ends_with("snapshot=stays")), "{answer}");
            assert!(answer["damaged"].as_array().is_none_or(Vec::is_empty), "{answer}");
        }
        reads += 1;
    }
    changes.join().unwrap();
    assert_eq!(all(&lake.path()), ["stays"]);
    command("verify").arg(lake.path()).assert().success();
}
