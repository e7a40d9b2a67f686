//! `trend.json`: the followed runs and tables. `heaplake trend --out` writes it last: tables without it are incomplete.

use crate::comparison::{Missed, Side};
use crate::run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// File name inside the folder of a trend.
pub const FILE: &str = "trend.json";

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Version of heaplake that wrote it.
    pub heaplake_version: String,
    /// Version of its tables.
    pub schema_version: u32,
    /// Formats of the inputs, sorted and separated by commas. Only runs of one format are compared with each other.
    pub format: String,
    /// Source of the steps: `order` of the selections, `captured`, `release`, or `label.NAME`.
    pub by: String,
    /// The steps, in order.
    pub steps: Vec<Side>,
    /// The tables.
    pub tables: Vec<run::Table>,
    /// Remarks, a sentence each: tables that a step lacks, unreadable runs.
    pub remarks: Vec<String>,
    /// Runs that the steps name or may name and that were not read; empty if the user allowed to leave them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<Missed>,
}
