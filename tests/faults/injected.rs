//! System calls that fail, at any moment, in any stage: an error with its cause, no partial run, no panic, and the same
//! command succeeds afterwards, with the same bytes.

use crate::common::{CASES, Case, Numbers, assert_all_whole, assert_repeats, ended, rounds, undisturbed, with_fault};
use std::fs;
use std::path::PathBuf;

/// Operations and their possible faults.
const FAULTS: [(&str, &[&str]); 10] = [
    ("open", &["5", "24", "28", "13", "4"]),
    ("read", &["5", "4", "short", "torn"]),
    ("write", &["5", "28", "4", "short", "torn"]),
    ("resize", &["5", "28"]),
    ("sync", &["5", "28"]),
    ("rename", &["5", "28"]),
    ("remove", &["5", "13"]),
    ("folder", &["5", "28", "13"]),
    ("map", &["5", "12"]),
    ("thread", &["11"]),
];

/// Result of a fault.
enum Outcome {
    /// The command ended before.
    Missed,
    Failed,
    Survived,
}

/// Runs a case with a fault and checks all invariants.
fn inject(
    case: &Case,
    fault: &str,
    known: &(heaplake_support::lake::Lake, PathBuf, std::collections::BTreeMap<String, Vec<u8>>),
) -> Outcome {
    let (lake, input, expected) = known;
    let what = format!("{} {fault}", case.name);
    let mut command = case.command(lake, input);
    let hit = with_fault(&mut command, lake, fault);
    let output = ended(&mut command, &what);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let outcome = match output.status.code() {
        Some(0) if !hit.exists() => Outcome::Missed,
        Some(0) => Outcome::Survived,
        Some(1..=3) => {
            let lines: Vec<&str> = text.lines().collect();
            assert!(
                lines.len() == 2 && lines[0].starts_with("heaplake: ") && lines[1].starts_with("  -> "),
                "{what}: {text}"
            );
            Outcome::Failed
        }
        code => panic!("{what}: {code:?} {text}"),
    };
    assert!(!text.contains("panicked"), "{what}: {text}");
    assert_all_whole(lake, &what);
    if !matches!(outcome, Outcome::Missed) {
        assert_repeats(case, lake, input, expected, &what);
    }
    let _ = fs::remove_dir_all(lake.path());
    outcome
}

/// Injects a fault into the calls 1, 2, 3, 5, 8, ... of each operation, or into all of `step`; counts faults.
fn sweep(case: &Case, next: impl Fn(u64) -> u64, only: impl Fn(&str, &str, u64) -> bool) -> (u32, u32) {
    let known = undisturbed(case);
    let (mut failed, mut survived) = (0, 0);
    for (operation, outcomes) in FAULTS {
        for what in outcomes {
            let mut call = 1;
            loop {
                if only(operation, what, call) {
                    match inject(case, &format!("{operation}:{call}:{what}"), &known) {
                        Outcome::Missed => break,
                        Outcome::Failed => failed += 1,
                        Outcome::Survived => survived += 1,
                    }
                }
                call = next(call);
                if call > 20_000 {
                    break;
                }
            }
        }
    }
    eprintln!(
        "{}: {} faults: {failed} ended the command with an error, {survived} did not",
        case.name,
        failed + survived
    );
    (failed, survived)
}

#[test]
fn a_failing_call_is_an_error_with_a_cause_and_nothing_else() {
    for (nth, case) in (0..).zip(&CASES) {
        let known = undisturbed(case);
        let mut numbers = Numbers(nth);
        let (mut failed, mut done) = (0, 0);
        while done < rounds(24) {
            let (operation, outcomes) = FAULTS[numbers.below(FAULTS.len() as u64) as usize];
            let what = outcomes[numbers.below(outcomes.len() as u64) as usize];
            let most = 1 << numbers.below(9);
            match inject(case, &format!("{operation}:{}:{what}", 1 + numbers.below(most)), &known) {
                Outcome::Missed => continue,
                Outcome::Failed => failed += 1,
                Outcome::Survived => {}
            }
            done += 1;
        }
        assert!(failed > 0, "{}: no fault was an error", case.name);
    }
}

#[test]
fn interrupted_and_short_calls_change_nothing() {
    for case in &CASES {
        let known = undisturbed(case);
        for fault in ["read:%2:4", "write:%2:4", "read:%3:short", "write:%3:short", "any:%5:slow"] {
            assert!(matches!(inject(case, fault, &known), Outcome::Survived), "{} {fault}", case.name);
        }
    }
}

#[test]
fn without_threads_there_are_fewer_or_an_error() {
    for case in &CASES {
        let known = undisturbed(case);
        assert!(matches!(inject(case, "thread:1+:11", &known), Outcome::Failed), "{}", case.name);
        for call in [2, 3, 5, 9] {
            // With one thread or none, whatever cannot be started is left out or is an error.
            inject(case, &format!("thread:{call}+:11"), &known);
        }
    }
}

#[test]
#[ignore = "long"]
fn failing_calls_all_over() {
    let (mut failed, mut survived) = (0, 0);
    for case in &CASES {
        let counts = sweep(case, |call| (call + 1).max(call * 5 / 4), |_, _, _| true);
        (failed, survived) = (failed + counts.0, survived + counts.1);
    }
    eprintln!("all: {failed} faults ended a command with an error, {survived} did not; no run lost, none by halves");
    assert!(failed > 500 && survived > 100);
}
