//! User files of rules in TOML; errors name file and line.

use crate::diagnostic::Diagnostic;
use heaplake_kit::fs::{TooLong, read_at_most};
use std::ops::Range;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Maximum bytes of a file of rules.
const MOST: u64 = 4 << 20;

/// Byte offset of a problem in the text, and its description.
pub(crate) type Wrong = (usize, String);

/// Reads a file with `parse`, which gets its tables. A diagnostic names file and line, and carries this advice.
pub(crate) fn read<T>(
    path: &Path,
    advice: &str,
    parse: impl Fn(&DeTable<'_>) -> Result<T, Wrong>,
) -> Result<T, Diagnostic> {
    let file = path.display();
    let whole = |problem: String| Diagnostic::usage(format!("{file}: {problem}"), advice);
    let at_line = |line: usize, problem: &str| whole(format!("line {line}: {problem}"));
    let bytes = read_at_most(path, MOST).map_err(|error| match TooLong::is(&error) {
        true => whole(format!("expected at most {MOST} bytes of rules, found more")),
        false => whole(format!("cannot read: {error}")),
    })?;
    let line = |bytes: &[u8], at: usize| bytes[..at.min(bytes.len())].iter().filter(|&&byte| byte == b'\n').count() + 1;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = line(error.as_bytes(), error.utf8_error().valid_up_to());
        at_line(line, "expected UTF-8, found other bytes")
    })?;
    tables(&text, parse).map_err(|(at, problem)| at_line(line(text.as_bytes(), at), &problem))
}

/// Parses a text as TOML and returns the result of `parse`.
pub(crate) fn tables<T>(text: &str, parse: impl Fn(&DeTable<'_>) -> Result<T, Wrong>) -> Result<T, Wrong> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (at, format!("expected TOML: {}", error.message().replace('\n', " ")))
    })?;
    parse(table.get_ref())
}

/// Returns the error for a value of the wrong kind.
pub(crate) fn expected<T>(span: &Range<usize>, what: &str, found: impl std::fmt::Display) -> Result<T, Wrong> {
    Err((span.start, format!("expected {what}, found {found}")))
}

/// Describes the kind of a value, with an article.
pub(crate) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
