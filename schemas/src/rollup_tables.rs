//! The tables of a rollup: `rollup_classes`, `rollup_chains` and so on.
//!
//! Each has one row per fingerprint of a table of runs, measure and group of runs: a row of [`crate::diff`], aggregated
//! over all runs of the group.

use crate::column::{ColumnSchema, Type, Unit, column, joined, text, time, whole};
use crate::diff::{self, AMOUNTS, DiffTable, SUBJECT, amounts};
use crate::table::{Runs, TableSchema, table};

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
