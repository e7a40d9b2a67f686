//! What people read on a terminal.

pub mod answers;
pub mod comparison;
pub mod gates;
pub mod list;
pub mod plan;
pub mod progress;
pub mod replay_summary;
pub mod summary;
pub mod terminal;
pub mod trend;

use crate::complaint::Complaint;
use serde::Serialize;
use std::io::Write;
use terminal::Look;

/// Prints bytes on standard output; returns the exit code. A closed pipe is not an error.
pub fn bytes(bytes: &[u8]) -> u8 {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
    0
}

/// The same with a text.
pub fn text(text: &str) -> u8 {
    bytes(text.as_bytes())
}

/// Prints a value as JSON; the exit code.
///
/// # Errors
/// A [`Complaint`] where it is nothing that JSON can say.
pub fn json(value: &impl Serialize) -> Result<u8, Complaint> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| Complaint::failed(error.to_string(), "report this as a bug"))?;
    text.push(b'\n');
    Ok(bytes(&text))
}

/// Prints an answer, as JSON or as text; the exit code.
///
/// # Errors
/// As [`json`].
pub fn answer<T: Serialize>(answer: &T, as_json: bool, as_text: impl Fn(&T, &Look) -> String) -> Result<u8, Complaint> {
    if as_json { json(answer) } else { Ok(text(&as_text(answer, &Look::stdout()))) }
}
