//! Profiles of V8's sampling heap profiler.

use crate::support::{EXACT, replay, replay_with, try_replay};
use heaplake_kit::StageError;
use heaplake_schemas::replay as columns;

const PROFILE: &str = r#"{"head":{"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},
"selfSize":16,"id":1,"children":[
{"callFrame":{"functionName":"main","scriptId":"9","url":"file:\/\/\/a\u0042.js","lineNumber":0,"columnNumber":0},"selfSize":100,"id":2,"children":[
 {"callFrame":{"functionName":"","scriptId":"9","url":"x.js","lineNumber":4,"columnNumber":2},"selfSize":1000,"id":3,"children":[]},
 {"callFrame":{"functionName":"main","scriptId":"9","url":"file:///aB.js","lineNumber":0,"columnNumber":0},"selfSize":10,"id":4,"children":[]}]},
{"callFrame":{"functionName":"other","scriptId":"9","url":"y.js","lineNumber":7,"columnNumber":3},"selfSize":0,"id":5,"children":[]}]},
"samples":[{"size":100,"nodeId":2,"ordinal":1}]}"#;

#[test]
fn nodes_are_ticks_of_their_bytes() {
    for size in [1, 3, 1 << 16] {
        let replayed = replay_with(PROFILE.as_bytes(), EXACT, 64 << 20, size).unwrap();
        let strings = replayed.strings(columns::STRINGS);
        let found: Vec<(String, String, u32, u64, u64)> = replayed
            .rows(columns::FUNCTIONS)
            .iter()
            .map(|row| {
                let text = |at: u32| strings.text(at as usize).into_owned();
                (text(row.name), text(row.file), row.line, row.inclusive_bytes, row.exclusive_bytes)
            })
            .collect();
        assert_eq!(
            found,
            [
                ("main".to_owned(), "file:///aB.js".to_owned(), 1, 1110, 110),
                ("(anonymous)".to_owned(), "x.js".to_owned(), 5, 1000, 1000),
            ]
        );
        assert_eq!(replayed.metadata.coverage, columns::Coverage::Ticks);
        assert_eq!((replayed.metadata.sampled_count, replayed.metadata.stackless_count), (4, 1));
        let types = replayed.rows(columns::TYPES);
        assert_eq!((types[0].estimated_bytes, types[0].allocated_count), (1126, columns::ABSENT));
    }
}

/// A function's samples are those that the file lists.
#[test]
fn samples_are_counted_as_the_file_lists_them() {
    let list = r#""samples":[{"size":50,"nodeId":2,"ordinal":1},{"size":30,"nodeId":4,"ordinal":3},{"nodeId":2,"size":50},
        {"size":7,"nodeId":99,"ordinal":9},{"size":20,"nodeId":2}]"#;
    let (head, _) = PROFILE.split_once(",\n\"samples\"").unwrap();
    let replayed = replay(format!("{head},{list}}}").as_bytes(), EXACT);
    // Three of `main`, one of `main` below it, and one at least of each of the two that the list does not name.
    assert_eq!((replayed.metadata.sampled_count, replayed.metadata.stackless_count), (6, 1));
    let callees = replayed.rows(columns::CALLEES);
    let mut counts: Vec<_> = callees.iter().map(|row| (row.exclusive_bytes, row.exclusive_samples)).collect();
    counts.sort_unstable();
    assert_eq!(counts, [(10, 1), (100, 3), (1000, 1)]);
    assert_eq!(replayed.rows(columns::TYPES)[0].estimated_bytes, 1126);
}

#[test]
fn cut_anywhere_is_refused() {
    for cut in 8..PROFILE.len() {
        let result = try_replay(&PROFILE.as_bytes()[..cut], EXACT);
        assert!(matches!(result, Err(StageError::Input(_))), "{cut}");
    }
}

/// There is no recursion.
#[test]
fn deep_profiles() {
    let frame = r#"{"callFrame":{"functionName":"f"},"selfSize":1,"children":["#;
    let depth = 2000;
    let profile = format!("{{\"head\":{}{}}}", frame.repeat(depth), "]}".repeat(depth));
    let replayed = replay(profile.as_bytes(), EXACT);
    assert_eq!(replayed.rows(columns::CALLEES).len(), depth);
    assert_eq!(replayed.rows(columns::FUNCTIONS)[0].inclusive_bytes, depth as u64);
}
