//! Arguments that select runs.

use crate::commands::choices::{label, pattern};
use clap::Args;
use glob::Pattern;
use heaplake_lake::moment::{self, Named};
use heaplake_lake::selection::Selection;
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

/// Parses a label with a pattern as its value.
fn label_pattern(text: &str) -> Result<(String, String), String> {
    let (key, value) = label(text)?;
    pattern(&value).map(|value| (key, value))
}

/// Parses a moment.
pub(super) fn moment(text: &str) -> Result<Named, String> {
    moment::parse(text, now())
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
