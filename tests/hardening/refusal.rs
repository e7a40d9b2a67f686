//! Checks that an input is refused: one line of cause with the offset, one of advice, and nothing left in the lake.

use super::good::{GOOD, assert_as_good, edited};
use heaplake::diagnostic::{Diagnostic, Exit};
use heaplake_support::in_process::{Analysis, analyze};
use heaplake_support::lake::Lake;

/// Analyses bytes that must be refused; returns the failure and the path of the input.
pub(crate) fn failure(bytes: &[u8]) -> (Diagnostic, String) {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", bytes);
    let failure = analyze(&lake.path(), &input, Analysis::default()).map(|outcome| outcome.place).unwrap_err();
    lake.assert_empty();
    assert_eq!(failure.to_string().lines().count(), 1, "{failure}");
    assert_eq!(failure.advice.lines().count(), 1, "{failure}");
    (failure, input.display().to_string())
}

/// Asserts that a text is refused at this offset, and the beginnings of the expected and found parts of the message.
pub(crate) fn assert_refused(text: impl AsRef<[u8]>, offset: usize, expected: &str, found: &str) {
    let (failure, file) = failure(text.as_ref());
    let message = failure.to_string();
    let (one, other) = message.split_once(", found ").unwrap_or_else(|| panic!("{message}"));
    let wanted = format!("{file}: byte {offset}: expected {expected}");
    assert!(one.starts_with(&wanted) && other.starts_with(found), "\n{message}\n{wanted}…, found {found}…");
    assert!(failure.advice.contains("write or copy the snapshot again"), "{}", failure.advice);
    assert!(failure.exit == Exit::Failed);
}

/// Edits of [`GOOD`], with a `^` at the position of the error (else it is the end of the file); the beginnings of the
/// message's expected and found parts.
pub(crate) type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a str);

pub(crate) fn assert_all_refused(cases: &[Case<'_>]) {
    for (edits, expected, found) in cases {
        let text = edited(edits);
        let offset = text.find('^').unwrap_or(text.len());
        assert_refused(text.replace('^', ""), offset, expected, found);
    }
}

pub(crate) const NUMBER: &str = "an unsigned integer below 2^64";

#[test]
fn the_good_one_is_good() {
    assert_as_good(GOOD);
}
