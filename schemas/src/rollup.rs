//! The tables of a rollup: `rollup_classes`, `rollup_chains` and so on, and `rollup.json`, which describes them.
//!
//! Each has one row per fingerprint of a table of runs and group of runs: a row of [`crate::diff`], summed up over all
//! runs of the group.

use crate::comparison::Missed;
use crate::diff::{self, DiffTable};
use crate::run;
use crate::table::{Runs, TableSchema, Type, optional, required};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// File name of the description, inside the folder of a rollup.
pub const FILE: &str = "rollup.json";

/// A table that sums up the rows of a table of runs.
#[derive(Clone, Copy, Debug)]
pub struct RollupTable {
    /// Its schema.
    pub table: TableSchema,
    /// The table that compares the same rows on two sides.
    pub rows: &'static DiffTable,
}

/// All tables of rollups.
pub const TABLES: &[RollupTable] =
    &[CLASSES, CHAINS, OWNERS, DUPLICATE_SETS, FINDINGS, ALLOCATION_TYPES, ALLOCATION_FUNCTIONS, LIFETIMES];

/// Columns of each measure.
pub const OF_MEASURE: [&str; 6] = ["sum", "min", "p50", "p90", "p99", "max"];

/// The whole of `rollup.json`. Written last: folders of groups that it does not name are not part of the rollup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rollup {
    /// Version of heaplake that wrote it.
    pub heaplake_version: String,
    /// Version of its tables.
    pub schema_version: u32,
    /// The lake, from the folder of the rollup if that is inside it.
    pub lake: String,
    /// What the runs are grouped by, besides the format of their inputs: `release`, `label.NAME`.
    pub by: Vec<String>,
    /// The groups, by format, release and labels.
    pub groups: Vec<Group>,
    /// What has the same culprit in several runs, the largest cluster first.
    pub clusters: Vec<Cluster>,
    /// What a reader must know, a sentence each: runs that cannot be read or have no fingerprints.
    pub remarks: Vec<String>,
    /// Runs of the lake that were not seen; none where the user allowed to leave them out.
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
    /// Labels that runs are grouped by; one that the runs do not have is not in it.
    pub labels: BTreeMap<String, String>,
    /// Its runs, by release and name.
    pub runs: Vec<RolledRun>,
    /// Its tables.
    pub tables: Vec<run::Table>,
    /// Its `rollup_*` tables in brief.
    pub brief: Vec<Brief>,
}

/// A table of a group in brief.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// Its name.
    pub table: String,
    /// What rows are ranked by: the largest value in a run of this measure.
    pub measure: String,
    /// Its rows.
    pub rows: u64,
    /// Runs of the group that have the table of runs.
    pub runs: i64,
    /// The first rows.
    pub top: Vec<TopRow>,
}

/// A row in brief.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopRow {
    /// What it is.
    pub signature: String,
    /// Runs with it.
    pub runs_with: i64,
    /// Hosts with it, if labels name hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts_with: Option<i64>,
    /// Median of the measure.
    pub p50: i64,
    /// Largest value of it.
    pub max: i64,
    /// Number of the first run of the group that has it.
    pub worst: usize,
}

/// A run of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolledRun {
    /// Folder, inside the lake.
    pub path: String,
    /// Release.
    pub release: String,
    /// Name.
    pub snapshot: String,
    /// Label `host`, if the run has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// When its input was captured, in microseconds since 1970, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured_at_us: Option<i64>,
    /// Bytes of its heap, or what was allocated in its trace.
    pub bytes: u64,
    /// Findings: high, medium, low.
    pub findings: [u64; 3],
    /// The seal of its `run.json`, or XXH3-128 of one without: a run that was replaced has another one.
    pub hash: String,
}

/// Runs in which the same thing holds far more than it usually does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// Format of the inputs.
    pub format: String,
    /// What holds it: signature of a finding.
    pub signature: String,
    /// Its fingerprint.
    pub fingerprint: String,
    /// Releases of its runs.
    pub releases: Vec<String>,
    /// Hosts of its runs, as far as labels name them.
    pub hosts: Vec<String>,
    /// Folders of its runs inside the lake, by bytes descending.
    pub runs: Vec<String>,
    /// Median over its runs of what it holds, in bytes.
    pub median_bytes: i64,
    /// The largest of these.
    pub max_bytes: i64,
    /// First and last time at which a run of it was captured, in microseconds since 1970, if that is known.
    pub captured_at_us: Option<[i64; 2]>,
}

const NOTES: &[&str] = &[
    "Runs are in one group if the format of their inputs, and what the rollup is grouped `by`, are the same. Each group has \
     a folder with its tables. Rows of a run with one fingerprint are added up.",
    "Sums and quantiles are over the runs that have the row: `runs_with` of `runs`. Quantiles lie between the two nearest \
     values (type 7 of Hyndman and Fan, the default of NumPy), rounded half away from zero.",
];

/// A table that sums up: the name of the table of runs, and its measures.
macro_rules! rollup_table {
    ($constant:ident: $name:literal sums up $of:literal, measures [$main:literal $(, $measure:literal)*]) => {
        #[doc = concat!("Table `", $name, "`.")]
        pub const $constant: RollupTable = RollupTable {
            table: TableSchema {
                name: $name,
                file: concat!($name, ".parquet"),
                row: concat!("fingerprint in `", $of, "` of any run of a group"),
                order: "`fingerprint`",
                runs: Runs::Rollup,
                condition: None,
                notes: NOTES,
                names_run: false,
                columns: &[
                    required("format", Type::Utf8, "Format of the inputs of the group"),
                    optional("release", Type::Utf8, "Release of the group; null if runs are not grouped by it"),
                    required("labels", Type::Map, "Labels that runs are grouped by, with their values in the group"),
                    required("signature", Type::Utf8, "What the row is, as text that is the same in every run"),
                    required("fingerprint", Type::UInt64, "XXH3-64 of `signature`"),
                    required("runs", Type::Int64, "Runs of the group that have the table"),
                    required("runs_with", Type::Int64, "Of these, runs with the row"),
                    optional("hosts", Type::Int64, "Values of the label `host` among `runs`; null if no run has it"),
                    optional("hosts_with", Type::Int64, "The same among `runs_with`; null likewise"),
                    optional("first_seen", Type::Timestamp, "The earliest time at which a run with the row was captured; null if none of them tells"),
                    optional("last_seen", Type::Timestamp, "The latest; null likewise"),
                    required("worst_release", Type::Utf8, concat!("Release of the run with the most `", $main, "`; of several, the first by release and name")),
                    required("worst_snapshot", Type::Utf8, "Name of that run"),
                    summed!(0 $main), summed!(1 $main), summed!(2 $main), summed!(3 $main), summed!(4 $main), summed!(5 $main),
                    $(
                        summed!(0 $measure), summed!(1 $measure), summed!(2 $measure), summed!(3 $measure),
                        summed!(4 $measure), summed!(5 $measure),
                    )*
                ],
            },
            rows: &diff::$constant,
        };
    };
}

/// The columns of a measure, see [`OF_MEASURE`].
macro_rules! summed {
    (0 $m:literal) => {
        optional(concat!("sum_", $m), Type::Int64, concat!("Sum of `", $m, "`; null if no run tells it"))
    };
    (1 $m:literal) => {
        optional(concat!("min_", $m), Type::Int64, "Smallest; null likewise")
    };
    (2 $m:literal) => {
        optional(concat!("p50_", $m), Type::Int64, "Median; null likewise")
    };
    (3 $m:literal) => {
        optional(concat!("p90_", $m), Type::Int64, "90 % quantile; null likewise")
    };
    (4 $m:literal) => {
        optional(concat!("p99_", $m), Type::Int64, "99 % quantile; null likewise")
    };
    (5 $m:literal) => {
        optional(concat!("max_", $m), Type::Int64, "Largest; null likewise")
    };
}

rollup_table!(CLASSES: "rollup_classes" sums up "classes",
    measures ["retained_bytes", "shallow_bytes", "count", "self_bytes", "native_bytes"]);
rollup_table!(CHAINS: "rollup_chains" sums up "chains", measures ["retained_bytes", "shallow_bytes", "count"]);
rollup_table!(OWNERS: "rollup_owners" sums up "owners", measures ["retained_bytes", "shallow_bytes", "count"]);
rollup_table!(DUPLICATE_SETS: "rollup_duplicate_sets" sums up "duplicate_sets", measures ["additional_bytes", "members"]);
rollup_table!(FINDINGS: "rollup_findings" sums up "findings", measures ["bytes", "count"]);
rollup_table!(ALLOCATION_TYPES: "rollup_allocation_types" sums up "allocation_types",
    measures ["bytes", "allocated_count", "exact_bytes", "live_count", "live_bytes"]);
rollup_table!(ALLOCATION_FUNCTIONS: "rollup_allocation_functions" sums up "allocation_functions",
    measures ["inclusive_bytes", "inclusive_count", "exclusive_bytes", "exclusive_count"]);
rollup_table!(LIFETIMES: "rollup_lifetimes" sums up "object_lifetimes", measures ["bytes", "count"]);

#[cfg(test)]
mod tests {
    use super::{OF_MEASURE, TABLES};

    #[test]
    fn rollups_sum_up_the_measures_that_differences_compare() {
        for table in TABLES {
            let names: Vec<&str> = table.table.columns.iter().map(|column| column.name).collect();
            let measures: Vec<String> =
                table.rows.measures.iter().flat_map(|m| OF_MEASURE.map(|of| format!("{of}_{m}"))).collect();
            assert_eq!(names[13..], measures, "{}", table.table.name);
            assert_eq!(
                table.table.name.trim_start_matches("rollup_"),
                table.rows.table.name.trim_start_matches("diff_")
            );
        }
    }
}
