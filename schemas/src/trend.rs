//! The tables of a trend: `trend_classes`, `trend_chains` and so on.
//!
//! Each follows the rows of one table of runs along a series of steps, as the tables of [`crate::diff`] compare them on
//! two sides: the same rows, keys and measures.

use crate::diff::{self, DiffTable};
use crate::table::{Runs, TableSchema, Type, optional, required};

/// A table that follows the rows of a table of runs.
#[derive(Clone, Copy, Debug)]
pub struct TrendTable {
    /// Its schema.
    pub table: TableSchema,
    /// The table that compares the same rows on two sides.
    pub rows: &'static DiffTable,
}

/// All tables of trends.
pub const TABLES: &[TrendTable] =
    &[CLASSES, CHAINS, OWNERS, DUPLICATE_SETS, FINDINGS, ALLOCATION_TYPES, ALLOCATION_FUNCTIONS, LIFETIMES];

const NOTES: &[&str] = &[
    "Rows of the steps are the same row where their `fingerprint` is the same. The value of a measure in a step is the \
     median over its runs, a run without such a row counts as 0; it is null in a step of which no run tells it.",
    "`shape` is `growing` if the last steps, three or more, are each above the one before, up to the end of the series; \
     `plateau` if the row has grown and its last steps, two or more, are flat; `sawtooth` if it climbs and falls again and \
     again; else `none`. Where steps have several runs, differences within their noise do not count.",
    "`shape`, `slope` and the like without a measure are those of the measure that rows are ranked by, the first one. \
     Steps are numbered from 0, in the order of `trend.json`.",
];

/// A table that follows: keys that a row always has, texts that it may lack, and measures.
macro_rules! trend_table {
    (
        $constant:ident: $name:literal follows $followed:literal, keys [$($key:literal),+], texts [$($text:literal),*],
        measures [$main:literal $(, $measure:literal)*], and [$($own:expr),*]
    ) => {
        #[doc = concat!("Table `", $name, "`.")]
        pub const $constant: TrendTable = TrendTable {
            table: TableSchema {
                name: $name,
                file: concat!($name, ".parquet"),
                row: concat!("fingerprint in `", $followed, "` of any step"),
                order: concat!("`shape` (`growing` first), then `slope_", $main, "` descending, then `fingerprint`"),
                runs: Runs::Trend,
                condition: None,
                notes: NOTES,
                names_run: false,
                columns: &[
                    $(required($key, Type::Utf8, concat!("`", $key, "` of the followed table, of the last run that has the row")),)+
                    $(optional($text, Type::Utf8, concat!("`", $text, "` of the followed table, likewise; null likewise")),)*
                    required("signature", Type::Utf8, "What the row is, as text that is the same in every run"),
                    required("fingerprint", Type::UInt64, "XXH3-64 of `signature`"),
                    $($own,)*
                    required("steps_with", Type::Int64, "Steps with a run that has the row"),
                    required("runs_with", Type::Int64, "Runs with the row, of all steps"),
                    required("shape", Type::Utf8, concat!("`growing`, `plateau`, `sawtooth` or `none`, of `", $main, "`")),
                    optional("slope", Type::Float64, concat!("Growth of `", $main, "` per step: the median of the slopes of all pairs of runs of different steps (Theil and Sen); null if fewer than two steps tell it")),
                    optional("slope_low", Type::Float64, "Lower end of its 95 % interval; null if there are too few values for one"),
                    optional("slope_high", Type::Float64, "Upper end; null likewise"),
                    optional("first_growth", Type::Int64, "The first step from which on it is above where the series began to grow; null unless it grows or is a plateau"),
                    series!(0 $main), series!(1 $main), series!(2 $main), series!(3 $main), series!(4 $main), series!(5 $main),
                    $(
                        series!(0 $measure), series!(1 $measure), series!(2 $measure), series!(3 $measure),
                        series!(4 $measure), series!(5 $measure),
                    )*
                ],
            },
            rows: &diff::$constant,
        };
    };
}

/// The columns of a measure.
macro_rules! series {
    (0 $m:literal) => {
        required(
            concat!("medians_", $m),
            Type::ListOfOptional(&Type::Int64),
            concat!("`", $m, "` in each step: the median of its runs; an item is null if no run of the step tells it"),
        )
    };
    (1 $m:literal) => {
        required(concat!("shape_", $m), Type::Utf8, "As `shape`, of this measure")
    };
    (2 $m:literal) => {
        optional(concat!("slope_", $m), Type::Float64, "As `slope`, of this measure; null likewise")
    };
    (3 $m:literal) => {
        optional(concat!("slope_low_", $m), Type::Float64, "As `slope_low`; null likewise")
    };
    (4 $m:literal) => {
        optional(concat!("slope_high_", $m), Type::Float64, "As `slope_high`; null likewise")
    };
    (5 $m:literal) => {
        optional(concat!("first_growth_", $m), Type::Int64, "As `first_growth`; null likewise")
    };
}

trend_table!(CLASSES: "trend_classes" follows "classes", keys ["class_key", "class"], texts [],
    measures ["retained_bytes", "shallow_bytes", "count", "self_bytes", "native_bytes"], and []);
trend_table!(CHAINS: "trend_chains" follows "chains", keys ["kind", "class", "text"], texts [],
    measures ["retained_bytes", "shallow_bytes", "count"],
    and [required("class_fingerprint", Type::UInt64, "`fingerprint` of the class at the end, as in `trend_classes`")]);
trend_table!(OWNERS: "trend_owners" follows "owners", keys ["owner"], texts [],
    measures ["retained_bytes", "shallow_bytes", "count"], and []);
trend_table!(DUPLICATE_SETS: "trend_duplicate_sets" follows "duplicate_sets", keys ["class"], texts ["preview"],
    measures ["additional_bytes", "members"], and []);
trend_table!(FINDINGS: "trend_findings" follows "findings", keys ["rule", "severity", "subject", "message"], texts ["class_key"],
    measures ["bytes", "count"], and []);
trend_table!(ALLOCATION_TYPES: "trend_allocation_types" follows "allocation_types", keys ["type"], texts [],
    measures ["bytes", "allocated_count", "exact_bytes", "live_count", "live_bytes"], and []);
trend_table!(ALLOCATION_FUNCTIONS: "trend_allocation_functions" follows "allocation_functions",
    keys ["function"], texts ["method_signature", "module", "file"],
    measures ["inclusive_bytes", "inclusive_count", "exclusive_bytes", "exclusive_count"], and []);
trend_table!(LIFETIMES: "trend_lifetimes" follows "object_lifetimes", keys ["type", "generation"], texts [],
    measures ["bytes", "count"], and []);

#[cfg(test)]
mod tests {
    use super::TABLES;

    #[test]
    fn trends_follow_the_rows_that_differences_compare() {
        for table in TABLES {
            let names: Vec<&str> = table.table.columns.iter().map(|column| column.name).collect();
            assert_eq!(
                table.table.name.trim_start_matches("trend_"),
                table.rows.table.name.trim_start_matches("diff_")
            );
            let keys = names.iter().position(|name| *name == "signature");
            assert_eq!(keys.map(|keys| &names[..keys]), Some(table.rows.keys), "{}", table.table.name);
            let measures: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix("medians_")).collect();
            assert_eq!(measures, *table.rows.measures, "{}", table.table.name);
        }
    }
}
