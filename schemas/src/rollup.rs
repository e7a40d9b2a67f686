//! `rollup.json`, which describes the tables of a rollup.

use crate::comparison::Missed;
use crate::run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use crate::rollup_tables::*;

/// File name of the description, inside the folder of a rollup.
pub const FILE: &str = "rollup.json";
/// Default folder of the rollup of a lake, in the lake.
pub const FOLDER: &str = "fleet";

/// The whole of `rollup.json`. Written last: folders of groups that it does not name are not part of the rollup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rollup {
    /// Version of heaplake that wrote it.
    pub heaplake_version: String,
    /// Version of its tables.
    pub schema_version: u32,
    /// The lake; relative to the folder of the rollup if inside it.
    pub lake: String,
    /// Grouping of the runs besides their input format: `release`, `label.NAME`.
    pub by: Vec<String>,
    /// Conditions on its runs.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
    /// The last night; absent if no run has a capture time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_night: Option<Night>,
    /// The groups, by format, release and labels.
    pub groups: Vec<Group>,
    /// Clusters of findings with the same cause in several runs, largest first.
    pub clusters: Vec<Cluster>,
    /// Remarks, a sentence each: unreadable runs, runs without fingerprints.
    pub remarks: Vec<String>,
    /// Runs of the lake that were not read; empty if the user allowed to leave them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<Missed>,
}

/// Conditions on the runs of a rollup, all of which hold; without any, it has all runs of the lake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// Runs are captured then or later: a time of UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Runs are captured before: a time of UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Glob patterns of releases, one of which matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<String>,
    /// Labels, as `NAME=PATTERN`. Patterns of one label are alternatives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

impl Conditions {
    /// Whether there is no condition.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The last night: the last calendar day of UTC on which a run of the rollup was captured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Night {
    /// The day, as in `2026-11-22`.
    pub day: String,
    /// Runs captured on that day.
    pub runs: usize,
    /// Hosts of these runs, if labels name them.
    pub hosts: usize,
}

/// A group of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// Folder of its tables, inside the folder of the rollup.
    pub folder: String,
    /// Format of the inputs.
    pub format: String,
    /// Release, if runs are grouped by it.
    pub release: Option<String>,
    /// Labels that runs are grouped by; those that the runs lack are absent.
    pub labels: BTreeMap<String, String>,
    /// Its runs, by release and name.
    pub runs: Vec<RolledRun>,
    /// Its tables.
    pub tables: Vec<run::Table>,
    /// Summaries of its `rollup_*` tables.
    pub brief: Vec<Brief>,
}

/// Summary of a table of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    /// Its name.
    pub table: String,
    /// Measure whose largest value in a run ranks the rows.
    pub measure: String,
    /// Its rows.
    pub rows: u64,
    /// Runs of the group that have the table.
    pub runs: i64,
    /// The first rows.
    pub top: Vec<TopRow>,
}

/// Summary of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TopRow {
    /// Its signature.
    pub signature: String,
    /// Runs with it.
    pub runs_with: i64,
    /// Hosts with it, if labels name hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts_with: Option<i64>,
    /// Median of the measure.
    pub p50: i64,
    /// Sum over the runs with it.
    #[serde(default)]
    pub sum: i64,
    /// Largest value.
    pub max: i64,
    /// Number of the first run of the group with that value.
    pub worst: usize,
}

/// A run of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RolledRun {
    /// Folder inside the lake.
    pub path: String,
    /// Release.
    pub release: String,
    /// Name.
    pub snapshot: String,
    /// Label `host`, if the run has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// When its input was captured, in microseconds since 1970, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured_at_us: Option<i64>,
    /// Bytes of its heap, or bytes allocated in its trace.
    pub bytes: u64,
    /// Findings: high, medium, low.
    pub findings: [u64; 3],
    /// The seal of its `run.json`, or XXH3-128 of one without; it changes when the run is replaced.
    pub hash: String,
}

/// Runs in which one holder retains far more than usual.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cluster {
    /// Format of the inputs.
    pub format: String,
    /// The holder: signature of a finding.
    pub signature: String,
    /// Its fingerprint.
    pub fingerprint: String,
    /// Releases of its runs.
    pub releases: Vec<String>,
    /// Hosts of its runs, if labels name them.
    pub hosts: Vec<String>,
    /// Folders of its runs inside the lake, by bytes descending.
    pub runs: Vec<String>,
    /// Median over its runs of the retained bytes.
    pub median_bytes: i64,
    /// Largest of them.
    pub max_bytes: i64,
    /// First and last capture time of its runs, in microseconds since 1970, if known.
    pub captured_at_us: Option<[i64; 2]>,
    /// Whether all its runs were captured in the last night; absent if no run of its format was captured before that
    /// night, or if some run of it has no capture time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_new: Option<bool>,
    /// Number of its runs that were captured in the last night.
    #[serde(default)]
    pub last_night_runs: usize,
    /// Hosts that are in it in the last night, and in none of its runs before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts_come: Vec<String>,
    /// Hosts that are in it before the last night, and have runs in that night, none of which is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts_gone: Vec<String>,
    /// Hosts that are in it before the last night, and have no run in that night.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts_unseen: Vec<String>,
}
