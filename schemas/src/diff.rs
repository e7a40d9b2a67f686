//! The tables of a comparison: `diff_classes`, `diff_chains` and so on.
//!
//! Each compares one table of runs, row by row, by the fingerprints of its rows. All have the same columns but for the
//! texts that say what a row is, and for their measures: the numbers that are compared.

use crate::table::{Runs, TableSchema, Type, optional, required};
use crate::{
    allocation_functions, allocation_types, chains, classes, duplicate_sets, findings, object_lifetimes, owners,
};

/// A table that compares the rows of a table of runs.
#[derive(Clone, Copy, Debug)]
pub struct DiffTable {
    /// Its schema.
    pub table: TableSchema,
    /// The table of runs that it compares.
    pub compared: &'static TableSchema,
    /// Columns of that table that say what a row is: texts, from the newest run of the target that has the row, or else
    /// of the base.
    pub keys: &'static [&'static str],
    /// Columns of that table that are compared. The first is what rows are ranked by.
    pub measures: &'static [&'static str],
}

/// All tables of comparisons of tables.
pub const TABLES: &[DiffTable] =
    &[CLASSES, CHAINS, OWNERS, DUPLICATE_SETS, FINDINGS, ALLOCATION_TYPES, ALLOCATION_FUNCTIONS, LIFETIMES];

/// What became of a row, in the column `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It grew through a holder that was not there before.
    NewPath,
    /// The base does not have it.
    Appeared,
    /// More than before.
    Grew,
    /// Less than before.
    Shrank,
    /// The target does not have it.
    Vanished,
    /// The runs of a side differ so much that the difference of the sides says nothing.
    WithinNoise,
    /// Each measure is what it was.
    Same,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::NewPath, Self::Appeared, Self::Grew, Self::Shrank, Self::Vanished, Self::WithinNoise, Self::Same];

    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NewPath => "new_path",
            Self::Appeared => "appeared",
            Self::Grew => "grew",
            Self::Shrank => "shrank",
            Self::Vanished => "vanished",
            Self::WithinNoise => "within_noise",
            Self::Same => "same",
        }
    }
}

const NOTES: &[&str] = &[
    "A row of one side is the row of the other side with the same `fingerprint`. Where a side has one run, a measure is \
     the sum over its rows with that fingerprint; where it has several, `base_…` and `target_…` are medians over the runs, \
     and a run without such a row counts as 0.",
    "Statistics compare the runs of both sides; they are null where both sides have one run. `shift`, `p`, `q` and the like \
     without a measure are those of the measure that rows are ranked by, the first one.",
];

/// A table that compares: keys that a row always has, texts that it may lack, and measures.
macro_rules! diff_table {
    (
        $constant:ident: $name:literal compares $compared:ident, keys [$($key:literal),+], texts [$($text:literal),*],
        measures [$main:literal $(, $measure:literal)*], and [$($own:expr),*]
    ) => {
        #[doc = concat!("Table `", $name, "`.")]
        pub const $constant: DiffTable = DiffTable {
            table: TableSchema {
                name: $name,
                file: concat!($name, ".parquet"),
                row: concat!("fingerprint in `", stringify!($compared), "` of either side"),
                order: concat!(
                    "significance (`q` below 0.05 first, if there are statistics), then `delta_", $main, "` descending, then `signature`"
                ),
                runs: Runs::Diff,
                condition: None,
                notes: NOTES,
                names_run: false,
                columns: &[
                    $(required($key, Type::Utf8, concat!("`", $key, "` of the compared table, of an example")),)+
                    $(optional($text, Type::Utf8, concat!("`", $text, "` of the compared table, of an example; null likewise")),)*
                    required("signature", Type::Utf8, "What the row is, as text that is the same in every run"),
                    required("fingerprint", Type::UInt64, "XXH3-64 of `signature`"),
                    required("status", Type::Utf8, "`new_path`, `appeared`, `grew`, `shrank`, `vanished`, `within_noise` or `same`"),
                    $($own,)*
                    required("base_runs", Type::Int64, "Runs of the base that have the table"),
                    required("target_runs", Type::Int64, "Runs of the target that have the table"),
                    required("base_runs_with", Type::Int64, "Of these, runs of the base with the row"),
                    required("target_runs_with", Type::Int64, "Of these, runs of the target with the row"),
                    optional("base_hosts_with", Type::Int64, "Values of the label `host` among the runs of the base with the row; null if no run has it"),
                    optional("target_hosts_with", Type::Int64, "The same of the target; null likewise"),
                    statistic!("shift", $main, "Hodges-Lehmann shift: the median of all differences of a run of the target and one of the base"),
                    statistic!("shift_low", $main, "Lower end of its 95 % interval"),
                    statistic!("shift_high", $main, "Upper end"),
                    statistic!("p", $main, "p of the Mann-Whitney test, two-sided: exact for few runs"),
                    statistic!("q", $main, "`p` corrected for the number of rows (Benjamini and Hochberg)"),
                    statistic!("smallest_effect", $main, "Least growth that these runs would show with a power of 80 %, corrected for the number of rows"),
                    measure!(0 $main), measure!(1 $main), measure!(2 $main), measure!(3 $main), measure!(4 $main),
                    measure!(5 $main), measure!(6 $main), measure!(7 $main), measure!(8 $main), measure!(9 $main),
                    measure!(10 $main), measure!(11 $main), measure!(12 $main), measure!(13 $main),
                    $(
                        measure!(0 $measure), measure!(1 $measure), measure!(2 $measure), measure!(3 $measure),
                        measure!(4 $measure), measure!(5 $measure), measure!(6 $measure), measure!(7 $measure),
                        measure!(8 $measure), measure!(9 $measure), measure!(10 $measure), measure!(11 $measure),
                        measure!(12 $measure), measure!(13 $measure),
                    )*
                ],
            },
            compared: &$compared::TABLE,
            keys: &[$($key,)+ $($text,)*],
            measures: &[$main $(, $measure)*],
        };
    };
}

/// A statistic of the measure that rows are ranked by.
macro_rules! statistic {
    ($name:literal, $main:literal, $meaning:literal) => {
        optional($name, Type::Float64, concat!($meaning, ", of `", $main, "`; null if both sides have one run"))
    };
}

/// The columns of a measure; [`OF_MEASURE`] of them.
macro_rules! measure {
    (0 $m:literal) => {
        optional(concat!("base_", $m), Type::Int64, concat!("`", $m, "` of the base; null if no run tells it"))
    };
    (1 $m:literal) => {
        optional(concat!("target_", $m), Type::Int64, concat!("`", $m, "` of the target; null likewise"))
    };
    (2 $m:literal) => {
        optional(concat!("delta_", $m), Type::Int64, "Target less base; null likewise")
    };
    (3 $m:literal) => {
        optional(concat!("delta_percent_", $m), Type::Float64, "The same in percent of the base; null if that is 0")
    };
    (4 $m:literal) => {
        optional(concat!("base_p10_", $m), Type::Int64, "10 % quantile of the runs of the base; null if it has one run")
    };
    (5 $m:literal) => {
        optional(concat!("base_p90_", $m), Type::Int64, "90 % quantile; null likewise")
    };
    (6 $m:literal) => {
        optional(
            concat!("target_p10_", $m),
            Type::Int64,
            "10 % quantile of the runs of the target; null if it has one run",
        )
    };
    (7 $m:literal) => {
        optional(concat!("target_p90_", $m), Type::Int64, "90 % quantile; null likewise")
    };
    (8 $m:literal) => {
        optional(concat!("shift_", $m), Type::Float64, "As `shift`, of this measure; null likewise")
    };
    (9 $m:literal) => {
        optional(concat!("shift_low_", $m), Type::Float64, "As `shift_low`; null likewise")
    };
    (10 $m:literal) => {
        optional(concat!("shift_high_", $m), Type::Float64, "As `shift_high`; null likewise")
    };
    (11 $m:literal) => {
        optional(concat!("p_", $m), Type::Float64, "As `p`; null likewise")
    };
    (12 $m:literal) => {
        optional(concat!("q_", $m), Type::Float64, "As `q`; null likewise")
    };
    (13 $m:literal) => {
        optional(concat!("smallest_effect_", $m), Type::Float64, "As `smallest_effect`; null likewise")
    };
}

/// Columns of each measure.
pub const OF_MEASURE: usize = 14;

diff_table!(CLASSES: "diff_classes" compares classes, keys ["class_key", "class"], texts [],
measures ["retained_bytes", "shallow_bytes", "count", "self_bytes", "native_bytes"],
and [
    optional("grew_through", Type::Utf8, "Signature of the chain of the class that grew most; null if none did, or chains of the class are not known on both sides"),
    optional("grew_through_text", Type::Utf8, "That chain as text; null likewise"),
    optional("grew_through_bytes", Type::Int64, "Its `delta_retained_bytes`; null likewise"),
    optional("grew_through_new", Type::Boolean, "Whether the base does not have that chain; null likewise")
]);
diff_table!(CHAINS: "diff_chains" compares chains, keys ["kind", "class", "text"], texts [],
measures ["retained_bytes", "shallow_bytes", "count"],
and [
    required("class_fingerprint", Type::UInt64, "`fingerprint` of the class at the end, as in `diff_classes`"),
    optional("share", Type::Float64, "Its growth as a part of what the chains of its kind that grew and lead to the class grew together; null if it did not grow")
]);
diff_table!(OWNERS: "diff_owners" compares owners, keys ["owner"], texts [],
    measures ["retained_bytes", "shallow_bytes", "count"], and []);
diff_table!(DUPLICATE_SETS: "diff_duplicate_sets" compares duplicate_sets, keys ["class"], texts ["preview"],
    measures ["additional_bytes", "members"], and []);
diff_table!(FINDINGS: "diff_findings" compares findings, keys ["rule", "severity", "subject", "message"], texts ["class_key"],
    measures ["bytes", "count"], and []);
diff_table!(ALLOCATION_TYPES: "diff_allocation_types" compares allocation_types, keys ["type"], texts [],
    measures ["bytes", "allocated_count", "exact_bytes", "live_count", "live_bytes"], and []);
diff_table!(ALLOCATION_FUNCTIONS: "diff_allocation_functions" compares allocation_functions,
    keys ["function"], texts ["method_signature", "module", "file"],
    measures ["inclusive_bytes", "inclusive_count", "exclusive_bytes", "exclusive_count"], and []);
diff_table!(LIFETIMES: "diff_lifetimes" compares object_lifetimes, keys ["type", "generation"], texts [],
    measures ["bytes", "count"], and []);
