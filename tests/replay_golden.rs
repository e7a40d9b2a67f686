//! Real traces, against what the reference replay of the same run says.

#![allow(clippy::unwrap_used)]

mod support;

use support::Lake;
use support::replay::{Answer, Collection, Function, Type, collections, dotnet, exactly, functions, types};

/// A log equals its answer in every number: collections, types, functions; each walk of the heap shows what is held alive.
fn equals(name: &str) {
    let answer = Answer::read(&format!("{name}.log.replay.txt"));
    let lake = Lake::new();
    let run = exactly(&lake, dotnet(&format!("{name}.log.zst")));
    let found: Vec<Collection> = collections(&run);
    assert_eq!(found, answer.collections);
    let found: Vec<Type> = types(&run);
    assert_eq!(found.iter().map(|row| row.count).sum::<u64>(), answer.allocations);
    for expected in answer.types {
        assert!(found.contains(&expected), "{expected:?}");
    }
    let found: Vec<Function> = functions(&run);
    // By bytes; the order of equal ones is nobody's.
    let mut first = found[..answer.functions.len()].to_vec();
    first.sort_by(|a, b| b.cmp(a));
    let mut expected = answer.functions;
    expected.sort_by(|a, b| b.cmp(a));
    assert_eq!(first, expected);
    assert!(lake.leftovers().iter().all(|path| path.is_dir() && path.file_name().unwrap() == "release=none"));
}

#[test]
fn log_of_dotnet_8() {
    equals("net8_exact");
}

#[test]
fn log_of_dotnet_core_3() {
    equals("both");
}
