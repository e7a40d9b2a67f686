//! The tables of a rollup: `rollup_classes`, `rollup_chains` and so on, and `rollup.json`, which describes them.
//!
//! Each has one row per fingerprint of a table of runs, measure and group of runs: a row of [`crate::diff`], aggregated
//! over all runs of the group.

use crate::column::{ColumnSchema, Type, Unit, column, joined, text, time, whole};
use crate::comparison::Missed;
use crate::diff::{self, AMOUNTS, DiffTable, SUBJECT, amounts};
use crate::run;
use crate::table::{Runs, TableSchema, table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// File name of the description, inside the folder of a rollup.
pub const FILE: &str = "rollup.json";

/// A table that aggregates the rows of a table of runs.
#[derive(Clone, Copy, Debug)]
pub struct RollupTable {
    /// Its schema.
    pub table: TableSchema,
    /// The table that compares the same rows between two sides.
    pub rows: &'static DiffTable,
    /// File beside the table, with the rows of each run.
    pub kept: &'static str,
}

/// All tables of rollups.
pub const TABLES: &[RollupTable] =
    &[CLASSES, CHAINS, OWNERS, DUPLICATE_SETS, FINDINGS, ALLOCATION_TYPES, ALLOCATION_FUNCTIONS, LIFETIMES];

/// The whole of `rollup.json`. Written last: folders of groups that it does not name are not part of the rollup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rollup {
    /// Version of heaplake that wrote it.
    pub heaplake_version: String,
    /// Version of its tables.
    pub schema_version: u32,
    /// The lake; relative to the folder of the rollup if inside it.
    pub lake: String,
    /// Grouping of the runs besides their input format: `release`, `label.NAME`.
    pub by: Vec<String>,
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

/// A group of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
}

const OF_GROUP: [ColumnSchema; AMOUNTS] = amounts!("", "the group");

/// The columns of all tables.
pub const COLUMNS: &[ColumnSchema] = &joined::<21>(&[
    &[
        text("format", "Input format of the group"),
        text("release", "Release of the group; null if not grouped by it").or_null(),
        column("labels", Type::Map, Unit::Text, "Labels that runs are grouped by, with their values"),
    ],
    SUBJECT,
    &OF_GROUP,
    &[
        whole("min", "Minimum; null too").or_null(),
        whole("p99", "99 % quantile; null too").or_null(),
        time("first_seen", "Earliest capture of a run with the subject; null if unknown").or_null(),
        time("last_seen", "Latest; null too").or_null(),
        text("worst_release", "Release of the run with the most of the first measure; the first of several"),
        text("worst_snapshot", "Name of that run"),
    ],
]);

const NOTES: &[&str] = &[
    "See [comparisons in long form](#comparisons-in-long-form). A group has the runs with one input format and equal \
     values of the rollup's `by`, in a folder of its own.",
];

/// Defines a table that aggregates the rows of a table of runs.
macro_rules! rollup_table {
    ($constant:ident: $name:literal sums up $of:literal) => {
        #[doc = concat!("Table `", $name, "`.")]
        pub const $constant: RollupTable = RollupTable {
            table: TableSchema {
                row: concat!("fingerprint in `", $of, "` of any run of a group, and measure"),
                order: "`fingerprint`, the order of the measures",
                runs: Runs::Rollup,
                notes: NOTES,
                names_run: false,
                columns: COLUMNS,
                ..table!($name)
            },
            rows: &diff::$constant,
            kept: concat!("rows_", $of, ".parquet"),
        };
    };
}

rollup_table!(CLASSES: "rollup_classes" sums up "classes");
rollup_table!(CHAINS: "rollup_chains" sums up "chains");
rollup_table!(OWNERS: "rollup_owners" sums up "owners");
rollup_table!(DUPLICATE_SETS: "rollup_duplicate_sets" sums up "duplicate_sets");
rollup_table!(FINDINGS: "rollup_findings" sums up "findings");
rollup_table!(ALLOCATION_TYPES: "rollup_allocation_types" sums up "allocation_types");
rollup_table!(ALLOCATION_FUNCTIONS: "rollup_allocation_functions" sums up "allocation_functions");
rollup_table!(LIFETIMES: "rollup_lifetimes" sums up "object_lifetimes");
