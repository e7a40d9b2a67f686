//! Output for people on a terminal.

pub mod answers;
pub mod comparison;
pub mod contents;
pub(crate) mod failures;
pub mod gates;
pub mod lake;
pub mod list;
pub mod plan;
pub mod query;
pub mod replay_summary;
pub mod rollup;
pub mod secrets;
pub mod stdout;
mod subjects;
pub mod summary;
pub(crate) mod tables;
pub mod terminal;
pub mod trend;
pub mod what_if;

use crate::diagnostic::Diagnostic;
use heaplake_kit::text::is_unseen;
use serde::Serialize;
use terminal::Look;

/// Prints bytes on standard output; returns the exit code. A closed pipe is not an error.
pub fn bytes(bytes: &[u8]) -> u8 {
    stdout::write(bytes)
}

/// Prints a text of which a terminal obeys [nothing but its colours](terminal::shown); returns the exit code.
pub fn text(text: &str) -> u8 {
    bytes(terminal::shown(text).as_bytes())
}

/// Prints a value as JSON; returns the exit code.
pub fn json(value: &impl Serialize) -> Result<u8, Diagnostic> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Diagnostic::failed(error.to_string(), "report this as a bug"))?;
    Ok(bytes(inert(&text).as_bytes()))
}

/// Prints a value as one line of JSON; returns the exit code.
pub fn json_line(value: &impl Serialize) -> Result<u8, Diagnostic> {
    let text =
        serde_json::to_string(value).map_err(|error| Diagnostic::failed(error.to_string(), "report this as a bug"))?;
    Ok(bytes(inert(&text).as_bytes()))
}

/// Escapes invisible characters of a JSON text and adds a line end. Non-ASCII characters occur only in strings, where
/// an escape means the same.
fn inert(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        if c != '\n' && is_unseen(c) {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| out += &format!("\\u{unit:04x}"));
        } else {
            out.push(c);
        }
    }
    out.push('\n');
    out
}

/// Prints an answer, as JSON or as text; returns the exit code.
pub fn answer<T: Serialize>(
    answer: &T,
    as_json: bool,
    as_text: impl Fn(&T, &Look) -> String,
) -> Result<u8, Diagnostic> {
    if as_json { json(answer) } else { Ok(text(&as_text(answer, &Look::stdout()))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_says_the_same_without_unseen_characters() {
        let value = ["a\u{1b}[2J\n", "\u{202e}\u{9b}\u{e0041}", "größer 👍"];
        let text = inert(&serde_json::to_string_pretty(&value).unwrap());
        assert!(text.chars().all(|c| c == '\n' || !is_unseen(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), value);
    }
}
