//! Metadata of a run, from its description.

use heaplake_lake::entry::Entry;
use heaplake_schemas::diff::TABLES;
use std::fmt;
use std::str::FromStr;

/// Label for the host.
const HOST: &str = "host";

/// Whether comparisons read a table.
pub fn is_compared(file: &str) -> bool {
    TABLES.iter().any(|table| table.compared.file == file)
}

/// Host of a run, from its label.
pub fn host(run: &Entry) -> Option<&str> {
    run.labels.get(HOST)
}

/// Whether a run has a table.
pub fn has_table(run: &Entry, file: &str) -> bool {
    run.table(file).is_some()
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
    pub(crate) fn of<'a>(&self, run: &'a Entry) -> Option<&'a str> {
        match self {
            Self::Release => Some(&run.release),
            Self::Label(name) => run.labels.get(name),
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
