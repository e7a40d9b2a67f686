//! Machine-readable lines on standard error: one JSON object per event, in place of progress and diagnostics as text.
//!
//! | event | fields |
//! |---|---|
//! | `resumed` | `input`, `stages`: finished stages that an earlier attempt left |
//! | `stage` | `input`, `stage`, `rows`, `bytes` written, `seconds`, `divisible_seconds`, `spilled_bytes`; the time is that of its end |
//! | `committed`, `unchanged` | `input`, `path`, `seconds`, `peak_rss_bytes`, `scratch_bytes`, `findings` |
//! | `failed` | `input`, if it is about one, `kind`, `cause`, `advice`, `exit_code` |
//! | `warning` | `cause`: omission and its reason |
//! | `note` | `text`: files of a folder that another command reads, a list that is empty |
//! | `retry` | `cause`: answer of an object store, and time of the retry; not with `--quiet` |
//! | `finished` | `inputs`, `committed`, `unchanged`, `failed`, `not_started`, `seconds` |
//!
//! Each also has `timestamp`, `level` and `event`. `input` is the input as the user named it, the same in all events.

use clap::ValueEnum;
use heaplake_kit::text::visible;
use schemars::JsonSchema;
use serde_json::json;
use std::fmt::Debug;
use std::io::Write;
use std::sync::OnceLock;
use tracing::field::Field;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// Format of events on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Bars or lines, and diagnostics of two lines.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// A line on standard error with [`Format::Json`]. Only its schema is used: the fields are those of the calls of
/// `tracing`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the type is a schema")]
pub(crate) struct Line {
    /// Time in UTC, as in RFC 3339.
    timestamp: String,
    level: LineLevel,
    #[schemars(flatten)]
    event: LineEvent,
}

/// Severity of a line.
#[derive(JsonSchema)]
#[schemars(rename_all = "UPPERCASE")]
#[expect(dead_code, reason = "the type is a schema")]
enum LineLevel {
    Info,
    Warn,
    Error,
}

/// Event of a line.
#[derive(JsonSchema)]
#[schemars(tag = "event", rename_all = "lowercase")]
#[expect(dead_code, reason = "the type is a schema")]
enum LineEvent {
    /// An analysis goes on after the stages of an earlier attempt.
    Resumed { input: String, stages: u64 },
    /// A stage ended.
    Stage {
        input: String,
        stage: String,
        rows: u64,
        /// Bytes written.
        bytes: u64,
        seconds: f64,
        /// Part of the time, measured with one thread, that more threads would share.
        divisible_seconds: f64,
        spilled_bytes: u64,
    },
    /// A run is new in the lake.
    Committed { input: String, path: String, seconds: f64, peak_rss_bytes: u64, scratch_bytes: u64, findings: u64 },
    /// A run existed before.
    Unchanged { input: String, path: String, seconds: f64, peak_rss_bytes: u64, scratch_bytes: u64, findings: u64 },
    /// An input, or the whole command, failed.
    Failed { input: Option<String>, kind: String, cause: String, advice: String, exit_code: u8 },
    /// Something was left out.
    Warning { cause: String },
    /// A remark.
    Note { text: String },
    /// An object store is asked again.
    Retry { cause: String },
    /// The end of a batch.
    Finished { inputs: u64, committed: u64, unchanged: u64, failed: u64, not_started: u64, seconds: f64 },
}

/// The user's choice: format, and whether finished stages are printed as text.
static CHOSEN: OnceLock<(Format, bool)> = OnceLock::new();

/// Sets the format for the whole process; the first call counts. With `verbose`, text has a line for each stage.
pub fn start(format: Format, quiet: bool, verbose: bool) {
    let _ = CHOSEN.set((format, verbose));
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false).with_ansi(false);
    let lines = match format {
        Format::Text => lines.without_time().with_level(false).boxed(),
        Format::Json => lines.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed(),
    };
    // Events of libraries have other forms and words.
    let ours = filter_fn(|about| about.target().starts_with("heaplake") && *about.level() <= Level::INFO);
    let retries = filter_fn(|about| about.target().starts_with("object_store") && *about.level() <= Level::INFO);
    let retries = (!quiet).then(|| Retries.with_filter(retries));
    // A second subscriber in one process (tests) changes nothing.
    let _ = tracing_subscriber::registry().with(lines.with_filter(ours)).with(retries).try_init();
}

/// Reports retries of the object store library.
struct Retries;

impl<S: Subscriber> Layer<S> for Retries {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut cause = String::new();
        event.record(&mut |field: &Field, value: &dyn Debug| {
            if field.name() == "message" {
                cause = visible(&format!("{value:?}"));
            }
        });
        let line = match is_json() {
            true => {
                let mut timestamp = String::new();
                let _ = SystemTime.format_time(&mut Writer::new(&mut timestamp));
                json!({"timestamp": timestamp, "level": "INFO", "event": "retry", "cause": cause}).to_string()
            }
            false => format!("heaplake: the object store is asked again: {cause}"),
        };
        // A write to a closed standard error cannot be reported anywhere.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

/// Whether events are written as JSON.
pub fn is_json() -> bool {
    CHOSEN.get().is_some_and(|(format, _)| *format == Format::Json)
}

/// Whether text has a line for each finished stage.
pub fn is_verbose() -> bool {
    CHOSEN.get().is_some_and(|(_, verbose)| *verbose)
}

/// Writes a note to standard error.
pub fn note(text: &str) {
    match is_json() {
        true => tracing::info!(event = "note", text = visible(text)),
        false => line("note", text),
    }
}

/// Writes a warning to standard error: an omission in a run that goes on.
pub fn warn(cause: &str) {
    match is_json() {
        true => tracing::warn!(event = "warning", cause = visible(cause)),
        false => line("warning", cause),
    }
}

fn line(kind: &str, text: &str) {
    // A write to a closed standard error cannot be reported anywhere.
    let _ = writeln!(std::io::stderr(), "heaplake: {kind}: {}", visible(text));
}
