//! `diff.json`: the compared runs and tables. `heaplake diff --out` writes it last: tables without it are incomplete.

use crate::run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// File name inside the folder of a comparison.
pub const FILE: &str = "diff.json";

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Version of heaplake that wrote it.
    pub heaplake_version: String,
    /// Version of its tables.
    pub schema_version: u32,
    /// Formats of the inputs, sorted and separated by commas. Only runs of one format are compared with each other.
    pub format: String,
    /// The side compared against.
    pub base: Side,
    /// The side under comparison.
    pub target: Side,
    /// The tables.
    pub tables: Vec<run::Table>,
    /// Remarks, a sentence each: tables that a side lacks, unreadable runs.
    pub remarks: Vec<String>,
    /// Runs that the sides name or may name and that were not read; empty if the user allowed to leave them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<Missed>,
    /// Tables compared without some runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacking: Vec<Lacking>,
}

/// A run that was not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missed {
    /// Folder of the run, or of an unreadable release.
    pub path: PathBuf,
    /// Why, in one line.
    pub problem: String,
}

/// A table compared without some runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lacking {
    /// The table, without `diff_`.
    pub table: String,
    /// Folders of the runs.
    pub runs: Vec<PathBuf>,
    /// Format of these runs if the other side has no run of it; none if they lack the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// A side of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// The side as the user named it: a folder or a selection.
    pub selection: String,
    /// Its runs, by release and name.
    pub runs: Vec<ComparedRun>,
}

/// A run of a side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// Its folder.
    pub path: PathBuf,
    /// Its release.
    pub release: String,
    /// Its name.
    pub snapshot: String,
    /// Its label `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Shallow bytes of the heap; of a trace, bytes allocated.
    pub bytes: u64,
    /// Nodes of the heap; of a trace, objects allocated.
    pub objects: u64,
}
