//! Errors of gates: cause, and place in the text.

use heaplake_kit::text::is_unseen;
use std::fmt;

/// Maximum characters shown of a line.
const SHOWN: usize = 120;

/// A place in an expression; lines and characters count from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub line: usize,
    pub character: usize,
    pub length: usize,
}

/// A problem in an expression, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub at: Place,
    pub problem: String,
    pub advice: String,
}

impl Wrong {
    /// Converts into the error of a gate.
    pub(crate) fn of(self, gate: &str, expression: &str) -> GateError {
        let lines = picture(expression, self.at);
        let problem: String = self.problem.chars().map(visible).collect();
        GateError { cause: format!("{gate}: {problem}{lines}"), advice: self.advice }
    }
}

/// Error of an unusable gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateError {
    /// Problem. For an expression, further lines show it with a caret below the place.
    pub cause: String,
    /// Advice, one line.
    pub advice: String,
}

impl fmt::Display for GateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl std::error::Error for GateError {}

/// Replaces tabs and invisible characters by one visible column.
fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        c if is_unseen(c) => '\u{fffd}',
        c => c,
    }
}

/// The line of the place, and a line of carets below it.
fn picture(text: &str, at: Place) -> String {
    let Some(line) = text.lines().nth(at.line).or_else(|| text.lines().last()) else { return String::new() };
    let all: Vec<char> = line.chars().map(visible).collect();
    let character = at.character.min(all.len());
    // A long line is cut to a window around the place.
    let from = if all.len() <= SHOWN { 0 } else { character.saturating_sub(SHOWN / 2) };
    let shown = &all[from..all.len().min(from + SHOWN)];
    let (before, after) = (from > 0, from + shown.len() < all.len());
    let line: String =
        before.then_some('…').into_iter().chain(shown.iter().copied()).chain(after.then_some('…')).collect();
    let indent = character - from + usize::from(before);
    let carets = at.length.clamp(1, shown.len().saturating_sub(character - from).max(1));
    format!("\n  | {line}\n  | {}{}", " ".repeat(indent), "^".repeat(carets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caret_stands_below_the_place() {
        let at = Place { line: 1, character: 2, length: 3 };
        assert_eq!(picture("first\nab cde", at), "\n  | ab cde\n  |   ^^^");
        assert_eq!(picture("ab", Place { character: 9, ..at }), "\n  | ab\n  |   ^");
        assert_eq!(picture("", at), "");
    }

    #[test]
    fn of_a_long_line_the_part_around_the_place_is_shown() {
        let text = format!("{}bad\t{}", "a".repeat(5000), "c".repeat(5000));
        let shown = picture(&text, Place { line: 0, character: 5000, length: 3 });
        let lines: Vec<&str> = shown.lines().skip(1).collect();
        assert!(shown.chars().count() < 300, "{shown}");
        let caret = lines[1].chars().position(|c| c == '^').unwrap_or_default();
        assert_eq!(lines[0].chars().skip(caret).take(4).collect::<String>(), "bad ");
    }
}
