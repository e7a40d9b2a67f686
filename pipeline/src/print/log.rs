//! Lines on standard error for machines: one JSON object per event, in place of progress and errors as people read them.
//!
//! | event | fields |
//! |---|---|
//! | `resumed` | `input`, `stages`: finished stages that an earlier attempt left |
//! | `stage` | `input`, `stage`, `rows`, `bytes` written, `seconds`, `divisible_seconds`, `spilled_bytes`; the time is that of its end |
//! | `committed`, `unchanged` | `input`, `path`, `seconds`, `peak_rss_bytes`, `scratch_bytes`, `findings` |
//! | `failed` | `kind`, `cause`, `advice`, `exit_code` |
//! | `warning` | `cause`: what was left out, and why |
//! | `note` | `text`: files of a folder that another command reads, a list that is empty |
//! | `finished` | `inputs`, `committed`, `unchanged`, `failed`, `not_started`, `seconds` |
//!
//! Each has `timestamp`, `level` and `event` too.

use clap::ValueEnum;
use heaplake_kit::text::visible;
use std::io::Write;
use std::sync::OnceLock;

/// How events are written to standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Bars or lines, and errors of two lines.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What the user chose.
static CHOSEN: OnceLock<Format> = OnceLock::new();

/// Takes the user's choice, for the whole process; the first one counts.
pub fn start(format: Format) {
    let _ = CHOSEN.set(format);
    let lines = tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false).with_ansi(false);
    // A second subscriber in one process (tests) changes nothing.
    let _ = match format {
        Format::Text => lines.without_time().with_level(false).try_init(),
        Format::Json => lines.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init(),
    };
}

/// Whether events are written as JSON.
#[must_use]
pub fn is_json() -> bool {
    CHOSEN.get() == Some(&Format::Json)
}

/// Says something on standard error that is no failure.
pub fn note(text: &str) {
    if is_json() {
        tracing::info!(event = "note", text = visible(text));
        return;
    }
    // Standard error is closed: there is nowhere to report that.
    let _ = writeln!(std::io::stderr(), "heaplake: note: {}", visible(text));
}

/// Says on standard error what was left out of a run that goes on.
pub fn warn(cause: &str) {
    if is_json() {
        tracing::warn!(event = "warning", cause = visible(cause));
        return;
    }
    // Standard error is closed: there is nowhere to report that.
    let _ = writeln!(std::io::stderr(), "heaplake: warning: {}", visible(cause));
}
