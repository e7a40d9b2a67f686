//! A killed rollup leaves the previous one, or its own; the next one is unaffected.

use crate::shared::{assert_same, files, groups, releases, rollup, run};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Minimum number of kills in the fast test.
const FEW: usize = 50;

/// A rollup killed before its `call`th system call, if it makes that many; returns whether it was killed.
fn killed(lake: &Path, call: usize) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    command.args(["fleet", "rollup", "--quiet"]).arg(lake).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.env("HEAPLAKE_FAULT", format!("any:{call}:kill")).status().unwrap();
    assert!(status.success() || status.signal() == Some(9), "call {call}: {status:?}");
    !status.success()
}

/// Files of a valid rollup: the description, and the groups that it names.
fn counting(out: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let description = (PathBuf::from("rollup.json"), fs::read(out.join("rollup.json")).unwrap());
    let of_group = |group: PathBuf| {
        files(&group).into_iter().map(move |(name, content)| (group.file_name().unwrap().into(), name, content))
    };
    let groups = groups(out).into_iter().flat_map(of_group);
    let groups = groups.map(|(group, name, content): (PathBuf, PathBuf, _)| (group.join(name), content));
    [description].into_iter().chain(groups).collect()
}

/// Kills rollups before each `step`th call until one completes; returns the number of kills.
fn kill_rollups(step: usize) -> usize {
    // Since the last rollup, a run came into one of the three groups, one group went, and one came.
    let lake = releases();
    let (out, anew) = (lake.path().join("fleet"), lake.path().join("anew"));
    rollup(&lake.path(), &out, &[]);
    let before = counting(&out);
    run(&lake, "1.1", "more", 200);
    run(&lake, "3.0", "first", 201);
    fs::remove_dir_all(lake.path().join("release=2.0")).unwrap();
    rollup(&lake.path(), &anew, &[]);
    let after = counting(&anew);
    assert!(before != after && after.len() > 6);
    let begin = files(&lake.path());
    let mut kills = 0;
    for call in (1..).step_by(step) {
        let was_killed = killed(&lake.path(), call);
        let now = counting(&out);
        assert!(now == before || now == after, "call {call}: neither the rollup of before nor the new one");
        assert!(was_killed || now == after, "call {call}: it did nothing");
        rollup(&lake.path(), &out, &[]);
        assert_same(&out, &anew);
        if !was_killed {
            return kills;
        }
        kills += 1;
        fs::remove_dir_all(lake.path()).unwrap();
        for (path, content) in &begin {
            let path = lake.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }
    kills
}

#[test]
fn a_killed_rollup_loses_nothing() {
    let kills = kill_rollups(4);
    eprintln!("{kills} kills of rollups survived");
    assert!(kills >= FEW, "{kills}");
}

#[test]
#[ignore = "long"]
fn rollups_that_are_killed_before_any_call() {
    let kills = kill_rollups(1);
    eprintln!("{kills} kills of rollups survived");
    assert!(kills >= 4 * FEW, "{kills}");
}
