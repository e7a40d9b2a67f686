//! Killed processes: before any system call, at any moment, and while a run is committed.

use crate::common::{
    CASES, Case, Numbers, assert_all_whole, assert_repeats, ended, rounds, succeed, tables, undisturbed, with_fault,
};
use heaplake_support::lake::Lake;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const KILLED: Option<i32> = Some(9);

/// Kills a case before system calls; returns the number of kills.
fn kill_before_calls(case: &Case, rounds: u64, seed: u64) -> u64 {
    let (lake, input, expected) = undisturbed(case);
    let mut numbers = Numbers(seed);
    let mut killed = 0;
    while killed < rounds {
        let most = 1 << (1 + numbers.below(12));
        let fault = format!("any:{}:kill", 1 + numbers.below(most));
        let what = format!("{} {fault}", case.name);
        let mut command = case.command(&lake, &input);
        with_fault(&mut command, &lake, &fault);
        let status = ended(&mut command, &what).status;
        assert!(status.success() || status.signal() == KILLED, "{what}: {status:?}");
        if status.signal() == KILLED {
            killed += 1;
            assert_all_whole(&lake, &what);
            assert_repeats(case, &lake, &input, &expected, &what);
        }
        let _ = fs::remove_dir_all(lake.path());
    }
    killed
}

/// Kills a case at random moments; returns the number of kills.
fn kill_in_time(case: &Case, rounds: u64, seed: u64) -> u64 {
    let (lake, input, expected) = undisturbed(case);
    let started = Instant::now();
    succeed(&mut case.command(&lake, &input), case.name);
    let usual = started.elapsed().as_micros() as u64;
    fs::remove_dir_all(lake.path()).unwrap();
    let mut numbers = Numbers(seed);
    let mut killed = 0;
    while killed < rounds {
        let mut child = case.command(&lake, &input).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(numbers.below(usual + 1)));
        let _ = child.kill();
        let what = format!("{} killed in time", case.name);
        if child.wait().unwrap().signal() == KILLED {
            killed += 1;
            assert_all_whole(&lake, &what);
            assert_repeats(case, &lake, &input, &expected, &what);
        }
        let _ = fs::remove_dir_all(lake.path());
    }
    killed
}

/// System calls of a commit, and their paths.
const COMMIT: [(&str, &str); 9] = [
    ("sync", ""),
    ("exchange", ""),
    ("rename", "release="),
    ("rename", "journal"),
    ("remove", "release="),
    ("remove", "lake"),
    ("open", "run.json"),
    ("write", "run.json"),
    ("folder", "release="),
];

/// Makes a run, and kills the command that replaces it at each `step`th call of its commit, with and without the atomic
/// exchange of folders; returns the number of kills. The old run or the new one must exist: at once with the exchange,
/// otherwise after the next command.
fn kill_in_commits(case: &Case, step: u64) -> u64 {
    let (lake, input, expected) = undisturbed(case);
    let mut killed = 0;
    for without_exchange in ["", "exchange:1+:95;"] {
        for (operation, part) in COMMIT {
            for call in (1..).step_by(if operation == "exchange" { 1 } else { step as usize }) {
                if lake.runs().is_empty() {
                    succeed(&mut case.command(&lake, &input), case.name);
                }
                let fault = format!("{without_exchange}{operation}:{call}:kill:{part}");
                let what = format!("{} {fault}", case.name);
                let mut command = case.command(&lake, &input);
                command.arg("--force").env("HEAPLAKE_FAULT", &fault);
                let status = ended(&mut command, &what).status;
                assert!(status.success() || status.signal() == KILLED, "{what}: {status:?}");
                assert_all_whole(&lake, &what);
                if status.success() {
                    break;
                }
                killed += 1;
                assert!(lake.runs().len() == 1 || !without_exchange.is_empty(), "{what}: no run");
                check(case, &lake, &input, &expected, &what);
            }
        }
    }
    killed
}

/// The next command finds a run of the expected bytes. Leftovers may only be scratch to resume from.
fn check(case: &Case, lake: &Lake, input: &Path, expected: &BTreeMap<String, Vec<u8>>, what: &str) {
    succeed(&mut case.command(lake, input), what);
    assert!(tables(&lake.run()) == *expected, "{what}: other bytes");
    let scratch = lake.path().join(".heaplake-scratch");
    let left: Vec<PathBuf> = lake.leftovers().into_iter().filter(|path| !path.starts_with(&scratch)).collect();
    assert_eq!(left, Vec::<PathBuf>::new(), "{what}");
}

#[test]
fn killed_before_any_call_a_run_is_there_or_not() {
    let killed: u64 = CASES.iter().map(|case| kill_before_calls(case, rounds(10), 1)).sum();
    eprintln!("{killed} kills before calls survived");
}

#[test]
fn killed_while_it_is_committed_the_old_or_the_new_run_stands() {
    let killed = kill_in_commits(&CASES[1], 5);
    eprintln!("{killed} kills around a commit survived");
    assert!(killed >= 20, "{killed}");
}

#[test]
#[ignore = "long"]
fn killed_at_any_moment() {
    for case in &CASES {
        let (calls, time) = (kill_before_calls(case, rounds(150), 2), kill_in_time(case, rounds(150), 3));
        eprintln!("{}: {calls} kills before calls and {time} in time survived", case.name);
    }
    let killed: u64 = [&CASES[1], &CASES[4]].map(|case| kill_in_commits(case, 1)).iter().sum();
    eprintln!("{killed} kills around a commit survived");
    assert!(killed >= 300, "{killed}");
}
