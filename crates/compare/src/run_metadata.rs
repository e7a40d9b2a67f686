//! Metadata of a run, from its description.

use heaplake_schemas::diff::TABLES;
use heaplake_schemas::run::{self, Run};
use std::fmt;
use std::str::FromStr;

/// Label for the host.
const HOST: &str = "host";

/// Whether comparisons read a table.
pub fn is_compared(file: &str) -> bool {
    TABLES.iter().any(|table| table.compared.file == file)
}

/// Input format of a run.
pub fn format(run: &Run) -> &str {
    run.replay.as_ref().map_or(&run.summary.format, |replay| &replay.metadata.format)
}

/// Host of a run, from its label.
pub fn host(run: &Run) -> Option<&str> {
    run.options.labels().get(HOST).map(String::as_str)
}

/// Whether a run has a table.
pub fn has_table(run: &Run, file: &str) -> bool {
    run.tables.iter().any(|table: &run::Table| table.file == file)
}

/// A key by which runs are divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// Release of the run.
    Release,
    /// Value of a label.
    Label(String),
}

impl Key {
    /// Value of the key for a run.
    pub(crate) fn of<'a>(&self, run: &'a Run) -> Option<&'a str> {
        match self {
            Self::Release => Some(&run.release),
            Self::Label(name) => run.options.labels().get(name).map(String::as_str),
        }
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("label.")) {
            ("release", _) => Ok(Self::Release),
            (_, Some(name)) if !name.is_empty() => Ok(Self::Label(name.to_owned())),
            _ => Err("use release or label.NAME".to_owned()),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release => f.write_str("release"),
            Self::Label(name) => write!(f, "label.{name}"),
        }
    }
}
