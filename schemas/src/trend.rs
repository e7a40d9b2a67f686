//! The tables of a trend: `trend_classes`, `trend_chains` and so on.
//!
//! Each follows the rows of one table of runs over a series of steps, as the tables of [`crate::diff`] compare them
//! between two sides: with the same subjects, keys and measures. A row is a subject, a measure and a step.

use crate::column::{ColumnSchema, Type, Unit, address, column, count, joined, real_per_step, text};
use crate::diff::{self, AMOUNTS, DiffTable, FORMAT, SUBJECT, amounts};
use crate::table::{Runs, TableSchema, table};

/// A table that follows the rows of a table of runs.
#[derive(Clone, Copy, Debug)]
pub struct TrendTable {
    /// Its schema.
    pub table: TableSchema,
    /// The table that compares the same rows between two sides.
    pub rows: &'static DiffTable,
}

/// All tables of trends.
pub const TABLES: &[TrendTable] =
    &[CLASSES, CHAINS, OWNERS, DUPLICATE_SETS, FINDINGS, ALLOCATION_TYPES, ALLOCATION_FUNCTIONS, LIFETIMES];

const OF_STEP: [ColumnSchema; AMOUNTS] = amounts!("", "the step");

/// The columns of all tables, after the keys.
pub const COLUMNS: &[ColumnSchema] = &joined::<23>(&[
    SUBJECT,
    FORMAT,
    &[column("step", Type::Int64, Unit::Step, "Step number, from 0, as in `trend.json`")],
    &OF_STEP,
    &[
        text(
            "shape",
            "Shape of the measure's series: `growing`, `leaks_on_some`, `plateau`, `sawtooth` or `none`; the same in \
             each step",
        )
        .of_measure(),
        real_per_step(
            "slope",
            "Growth per step: median slope of all pairs of runs of different steps (Theil-Sen); for `leaks_on_some`, \
             of the means of the steps; null below two steps with values",
        )
        .or_null(),
        real_per_step("slope_low", "Lower end of its 95 % interval; null if too few values").or_null(),
        real_per_step("slope_high", "Upper end; null too").or_null(),
        column(
            "first_growth",
            Type::Int64,
            Unit::Step,
            "First step from which on it is above where it began to grow; null unless it grows, leaks on some, or is \
             a plateau",
        )
        .or_null()
        .of_measure(),
        count(
            "grown_on",
            "Hosts of the last step where it has grown (runs, without host labels); null unless it grows or leaks on \
             some",
        )
        .or_null()
        .of_measure(),
        text("grown_on_names", "Their names, largest first, at most five; null too").or_null().of_measure(),
        address("class_fingerprint", "`fingerprint` in `trend_classes` of a chain's class; null for other subjects")
            .or_null(),
        address("part_of", "`fingerprint` of the subject that this growth is part of; null if none").or_null(),
    ],
]);

const NOTES: &[&str] = &["See [comparisons in long form](#comparisons-in-long-form)."];

const ORDER: &str = "`shape` of the first measure (`growing` and `leaks_on_some` first), growth per step over all \
     runs descending, \
     `fingerprint`, `format`, the order of the measures, `step`";
/// Defines a table that follows the rows of a table of runs.
macro_rules! trend_table {
    ($constant:ident: $name:literal follows $followed:literal by $keys:ident) => {
        #[doc = concat!("Table `", $name, "`.")]
        pub const $constant: TrendTable = TrendTable {
            table: TableSchema {
                row: concat!("fingerprint in `", $followed, "` of any step, measure and step"),
                order: ORDER,
                runs: Runs::Trend,
                notes: NOTES,
                names_run: false,
                columns: &joined::<{ diff::$keys.len() + COLUMNS.len() }>(&[diff::$keys, COLUMNS]),
                ..table!($name)
            },
            rows: &diff::$constant,
        };
    };
}

trend_table!(CLASSES: "trend_classes" follows "classes" by OF_CLASSES);
trend_table!(CHAINS: "trend_chains" follows "chains" by OF_CHAINS);
trend_table!(OWNERS: "trend_owners" follows "owners" by OF_OWNERS);
trend_table!(DUPLICATE_SETS: "trend_duplicate_sets" follows "duplicate_sets" by OF_DUPLICATE_SETS);
trend_table!(FINDINGS: "trend_findings" follows "findings" by OF_FINDINGS);
trend_table!(ALLOCATION_TYPES: "trend_allocation_types" follows "allocation_types" by OF_ALLOCATION_TYPES);
trend_table!(ALLOCATION_FUNCTIONS: "trend_allocation_functions" follows "allocation_functions" by OF_ALLOCATION_FUNCTIONS);
trend_table!(LIFETIMES: "trend_lifetimes" follows "object_lifetimes" by OF_LIFETIMES);
