//! Arguments that select runs, of `heaplake ls`, `lake drop`, `lake label` and `fleet rollup`.

use crate::commands::choices::{label, pattern};
use clap::Args;
use glob::Pattern;
use heaplake_lake::moment::{self, Named};
use heaplake_lake::selection::Selection;
use heaplake_lake::upkeep::choice::Choice;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Conditions on release and labels.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Which runs")]
pub(crate) struct Choosing {
    /// Only runs of a release that matches a glob; may be given again
    #[arg(long = "release", value_name = "RELEASE", value_parser = pattern)]
    releases: Vec<String>,
    /// Only runs with such a label, as host=web*; may be given again
    ///
    /// The value is a glob pattern. Values of one label are alternatives; different labels must all match.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label_pattern)]
    labels: Vec<(String, String)>,
}

impl Choosing {
    /// Converts to a selection.
    pub(crate) fn selection(&self) -> Selection {
        let mut selection = Selection::default();
        // The command line was validated as patterns.
        let pattern = |text: &str| Pattern::new(text).unwrap_or_default();
        self.releases.iter().for_each(|release| selection.add_release(pattern(release)));
        self.labels.iter().for_each(|(key, value)| selection.add_label(key.clone(), pattern(value)));
        selection
    }
}

/// Conditions on the capture time.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Which runs")]
pub(crate) struct Period {
    /// Only runs captured then or later: 2026-11-22, or 7d ago
    ///
    /// A date of UTC, with or without a time: 2026-11-22, 2026-11-22T07:45; or an age: 90m, 12h, 7d, 2w. Runs without a
    /// capture time are left out.
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    since: Option<Named>,
    /// Only runs captured until then, a whole day for a date
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    until: Option<Named>,
}

impl Period {
    /// Converts to a choice of runs, with these conditions too.
    pub(crate) fn choice(self, choosing: &Choosing) -> Choice {
        Choice {
            selection: choosing.selection(),
            since: self.since.map(|since| since.start),
            before: self.until.map(|until| until.end),
            ..Choice::default()
        }
    }
}

/// Parses a label with a pattern as its value.
fn label_pattern(text: &str) -> Result<(String, String), String> {
    let (key, value) = label(text)?;
    pattern(&value).map(|value| (key, value))
}

/// Parses a moment.
fn moment(text: &str) -> Result<Named, String> {
    moment::parse(text, now())
}

/// Patterns for names of runs, which are valid patterns. The path of an existing folder in the lake becomes its path as
/// plans have it.
pub(super) fn names(runs: &[String], lake: &Path) -> Vec<Pattern> {
    let path_of = |run: &String| {
        let (run, whole) = (Path::new(run).canonicalize().ok()?, lake.canonicalize().ok()?);
        Some(Pattern::escape(&lake.join(run.strip_prefix(whole).ok()?).to_string_lossy()))
    };
    let pattern = |run: &String| Pattern::new(path_of(run).as_ref().unwrap_or(run)).unwrap_or_default();
    runs.iter().map(pattern).collect()
}

/// Parses an age; returns the moment that long ago.
pub(super) fn ago(text: &str) -> Result<i64, String> {
    moment::age(text).map(|age| now().saturating_sub(age))
}

/// Microseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
