//! The tables of a comparison: `diff_classes`, `diff_chains` and so on.
//!
//! Each compares one table of runs by the fingerprints of its rows. A row of it is a *subject*, which is what a row of
//! the compared table says something of (a class, a chain), and one of its *measures*, the numbers that are compared. So
//! all of them have the same columns, but for the texts that say what a subject is.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, joined, optional, required};
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
    /// Columns of that table that say what a subject is: texts, from the newest run of the target that has the row, or
    /// else of the base.
    pub keys: &'static [&'static str],
    /// Columns of that table that are compared. The first is what subjects are ranked by.
    pub measures: &'static [&'static str],
}

/// All tables of comparisons of tables.
pub const TABLES: &[DiffTable] =
    &[CLASSES, CHAINS, OWNERS, DUPLICATE_SETS, FINDINGS, ALLOCATION_TYPES, ALLOCATION_FUNCTIONS, LIFETIMES];

/// What became of a subject, in the column `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It grew through a holder that was not there before.
    NewPath,
    /// The base does not have it.
    Appeared,
    /// The base does not have it, and only some runs of the target do.
    AppearedOn,
    /// More than before.
    Grew,
    /// More than before on some hosts; on the others it is what it was.
    GrewOnSome,
    /// Less than before.
    Shrank,
    /// Less than before on some hosts.
    ShrankOnSome,
    /// The target does not have it.
    Vanished,
    /// The runs of a side differ so much that the difference of the sides says nothing.
    WithinNoise,
    /// Each measure is what it was.
    Same,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::NewPath,
        Self::Appeared,
        Self::AppearedOn,
        Self::Grew,
        Self::GrewOnSome,
        Self::Shrank,
        Self::ShrankOnSome,
        Self::Vanished,
        Self::WithinNoise,
        Self::Same,
    ];

    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NewPath => "new_path",
            Self::Appeared => "appeared",
            Self::AppearedOn => "appeared_on",
            Self::Grew => "grew",
            Self::GrewOnSome => "grew_on_some",
            Self::Shrank => "shrank",
            Self::ShrankOnSome => "shrank_on_some",
            Self::Vanished => "vanished",
            Self::WithinNoise => "within_noise",
            Self::Same => "same",
        }
    }

    /// Whether there is more of it than before.
    #[must_use]
    pub fn is_growth(self) -> bool {
        matches!(self, Self::NewPath | Self::Appeared | Self::AppearedOn | Self::Grew | Self::GrewOnSome)
    }
}

/// By what a status is decided, in the column `evidence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The tests: `q` is below 0.05.
    Tests,
    /// There are too few runs for a test, but all of one side lie above all of the other, by a factor.
    Separation,
    /// Both sides have one run.
    Difference,
    /// Nothing.
    None,
}

impl Evidence {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tests => "tests",
            Self::Separation => "separation",
            Self::Difference => "difference",
            Self::None => "none",
        }
    }
}

/// The columns that say what a subject is, from their names: those that it always has, then those that it may lack.
macro_rules! keys {
    ($($key:literal),+; $($text:literal),*) => {
        &[
            $(required($key, Type::Utf8, concat!("`", $key, "` of the table of runs, of an example")),)+
            $(optional($text, Type::Utf8, concat!("`", $text, "` of the table of runs, of an example; null likewise")),)*
        ]
    };
}

pub(crate) const OF_CLASSES: &[ColumnSchema] = keys!("class_key", "class";);
pub(crate) const OF_CHAINS: &[ColumnSchema] = keys!("kind", "class", "text";);
pub(crate) const OF_OWNERS: &[ColumnSchema] = keys!("owner";);
pub(crate) const OF_DUPLICATE_SETS: &[ColumnSchema] = keys!("class"; "preview");
pub(crate) const OF_FINDINGS: &[ColumnSchema] = keys!("rule", "severity", "subject", "message"; "class_key");
pub(crate) const OF_ALLOCATION_TYPES: &[ColumnSchema] = keys!("type";);
pub(crate) const OF_ALLOCATION_FUNCTIONS: &[ColumnSchema] = keys!("function"; "method_signature", "module", "file");
pub(crate) const OF_LIFETIMES: &[ColumnSchema] = keys!("type", "generation";);

/// Names of columns.
pub(crate) const fn names<const N: usize>(columns: &'static [ColumnSchema]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = columns[at].name;
        at += 1;
    }
    names
}

/// The first columns after the keys.
pub(crate) const SUBJECT: &[ColumnSchema] = &[
    required("signature", Type::Utf8, "What the subject is, as text that is the same in every run"),
    required("fingerprint", Type::UInt64, "XXH3-64 of `signature`"),
    required("measure", Type::Utf8, "What is compared: the name of a column of the table of runs"),
];

/// Beside them: runs of one format are compared with each other.
pub(crate) const FORMAT: &[ColumnSchema] = &[required(
    "format",
    Type::Utf8,
    "Format of the inputs of the runs: those of each format are compared with each other",
)];

/// Number of columns of [`amounts`].
pub(crate) const AMOUNTS: usize = 9;

/// What several runs say of a measure, with a word before the names of the columns.
macro_rules! amounts {
    ($before:literal, $of:literal) => {
        [
            required(concat!($before, "runs"), Type::Int64, concat!("Runs of ", $of, " that have the table")),
            required(concat!($before, "runs_with"), Type::Int64, "Of these, runs with the subject"),
            optional(
                concat!($before, "hosts"),
                Type::Int64,
                "Values of the label `host` among the runs; null if no run has it",
            ),
            optional(
                concat!($before, "hosts_with"),
                Type::Int64,
                "The same among the runs with the subject; null likewise",
            ),
            optional(
                concat!($before, "sum"),
                Type::Int64,
                concat!("The measure on all runs of ", $of, " together; null if no run tells it"),
            ),
            optional(concat!($before, "mean"), Type::Int64, "Mean of the runs that tell it; null likewise"),
            optional(concat!($before, "median"), Type::Int64, "Their median; null likewise"),
            optional(concat!($before, "p90"), Type::Int64, "Their 90 % quantile; null likewise"),
            optional(concat!($before, "max"), Type::Int64, "The largest; null likewise"),
        ]
    };
}
pub(crate) use amounts;

const OF_BASE: [ColumnSchema; AMOUNTS] = amounts!("base_", "the base");
const OF_TARGET: [ColumnSchema; AMOUNTS] = amounts!("target_", "the target");

/// The columns of all tables, after the keys.
pub const COLUMNS: &[ColumnSchema] = &joined::<52>(&[
    SUBJECT,
    FORMAT,
    &[
        required(
            "status",
            Type::Utf8,
            "What became of the subject, by the measure that subjects are ranked by: `new_path`, `appeared`, `appeared_on`, `grew`, `grew_on_some`, `shrank`, `shrank_on_some`, `vanished`, `within_noise` or `same`",
        ),
        required(
            "evidence",
            Type::Utf8,
            "By what that is decided: `tests`, `separation` (too few runs for a test), `difference` (one run a side) or `none`",
        ),
        optional(
            "part_of",
            Type::UInt64,
            "`fingerprint` of the subject further up of whose growth this is a part; null if it is none",
        ),
    ],
    &OF_BASE,
    &OF_TARGET,
    &[
        optional(
            "delta_sum",
            Type::Int64,
            "What the runs of the target have more than as many runs of the base would: the difference of the means, times the runs of the target; null if a side does not tell it",
        ),
        optional(
            "delta_sum_low",
            Type::Float64,
            "Lower end of its 95 % interval; null if a side that varies has one run",
        ),
        optional("delta_sum_high", Type::Float64, "Upper end; null likewise"),
        optional(
            "percent_sum",
            Type::Float64,
            "`delta_sum` in percent of the base; infinite if that is 0 and the target is more, null if both are 0",
        ),
        optional(
            "delta_mean",
            Type::Int64,
            "Difference of the means, which is that of one run; null if a side does not tell it",
        ),
        optional("delta_median", Type::Int64, "Difference of the medians; null likewise"),
        optional(
            "percent_median",
            Type::Float64,
            "The same in percent of the base; infinite and null as `percent_sum`",
        ),
        optional(
            "shift",
            Type::Float64,
            "Hodges-Lehmann shift: the median of all differences of a run of the target and one of the base; null if both sides have one run",
        ),
        optional("shift_low", Type::Float64, "Lower end of its 95 % interval; null if there are too few runs for one"),
        optional("shift_high", Type::Float64, "Upper end; null likewise"),
        optional(
            "p_shift",
            Type::Float64,
            "p of the test of Mann and Whitney: do all runs have more or less; null if both sides have one run",
        ),
        optional(
            "p_presence",
            Type::Float64,
            "p of Fisher's exact test of the runs with the subject; null if it cannot tell anything",
        ),
        optional(
            "p_tail",
            Type::Float64,
            "p of Fisher's exact test of the runs above a threshold: do some runs have far more; null likewise",
        ),
        optional(
            "p_paired",
            Type::Float64,
            "p of the differences of the hosts that both sides have; null without such pairs",
        ),
        optional("p", Type::Float64, "These combined (Liu and Xie); null if both sides have one run"),
        optional(
            "q",
            Type::Float64,
            "`p` corrected for the number of subjects (Benjamini and Hochberg); null also if there are so few runs that no q could be below 0.05",
        ),
        optional("pairs", Type::Int64, "Hosts that were compared with themselves; null without pairs"),
        optional(
            "smallest_effect",
            Type::Float64,
            "Least growth on all runs that these would show with a power of 80 %, corrected for the number of subjects; null if no growth would",
        ),
        optional(
            "smallest_effect_on_tenth",
            Type::Float64,
            "The same of growth on a tenth of the runs of the target; null if no growth would",
        ),
        optional(
            "changed_on",
            Type::Int64,
            "Hosts of the target on which it changed (runs, if no label names hosts); null if `status` is `same` or `within_noise`",
        ),
        optional(
            "changed_on_names",
            Type::Utf8,
            "Names of these, those that changed most first, five at most; null likewise",
        ),
        optional(
            "class_fingerprint",
            Type::UInt64,
            "Of a chain, `fingerprint` of the class at its end, as in `diff_classes`; null for other subjects",
        ),
        optional(
            "share",
            Type::Float64,
            "Of a chain, its growth as a part of what the chains of its kind that grew and lead to the class grew together; null if it did not grow",
        ),
        optional(
            "grew_through",
            Type::Utf8,
            "Of a class, signature of its chain that grew most; null if none did, or chains of the class are not known on both sides",
        ),
        optional("grew_through_text", Type::Utf8, "That chain as text; null likewise"),
        optional("grew_through_bytes", Type::Int64, "What it grew on a run in the mean; null likewise"),
        optional("grew_through_new", Type::Boolean, "Whether the base does not have that chain; null likewise"),
    ],
]);

const NOTES: &[&str] = &["See [comparisons in long form](#comparisons-in-long-form)."];

const fn compared(
    (name, file): (&'static str, &'static str),
    row: &'static str,
    columns: &'static [ColumnSchema],
) -> TableSchema {
    let order = "what became of the subject (growth first, then what shrank), then what grew most on all runs together, then `fingerprint`, then `format`, then the order of the measures";
    TableSchema { name, file, row, order, runs: Runs::Diff, condition: None, notes: NOTES, names_run: false, columns }
}

/// A table that compares the rows of a table of runs.
macro_rules! diff_table {
    ($constant:ident: $name:literal compares $compared:ident by $keys:ident, $($measure:literal),+) => {
        #[doc = concat!("Table `", $name, "`.")]
        pub const $constant: DiffTable = DiffTable {
            table: compared(
                ($name, concat!($name, ".parquet")),
                concat!("fingerprint in `", stringify!($compared), "` of either side, and measure"),
                &joined::<{ $keys.len() + COLUMNS.len() }>(&[$keys, COLUMNS]),
            ),
            compared: &$compared::TABLE,
            keys: &names::<{ $keys.len() }>($keys),
            measures: &[$($measure),+],
        };
    };
}

diff_table!(CLASSES: "diff_classes" compares classes by OF_CLASSES,
    "retained_bytes", "shallow_bytes", "count", "self_bytes", "native_bytes");
diff_table!(CHAINS: "diff_chains" compares chains by OF_CHAINS, "retained_bytes", "shallow_bytes", "count");
diff_table!(OWNERS: "diff_owners" compares owners by OF_OWNERS, "retained_bytes", "shallow_bytes", "count");
diff_table!(DUPLICATE_SETS: "diff_duplicate_sets" compares duplicate_sets by OF_DUPLICATE_SETS,
    "additional_bytes", "members");
diff_table!(FINDINGS: "diff_findings" compares findings by OF_FINDINGS, "bytes", "count");
diff_table!(ALLOCATION_TYPES: "diff_allocation_types" compares allocation_types by OF_ALLOCATION_TYPES,
    "bytes", "allocated_count", "exact_bytes", "live_count", "live_bytes");
diff_table!(ALLOCATION_FUNCTIONS: "diff_allocation_functions" compares allocation_functions by OF_ALLOCATION_FUNCTIONS,
    "inclusive_bytes", "inclusive_count", "exclusive_bytes", "exclusive_count");
diff_table!(LIFETIMES: "diff_lifetimes" compares object_lifetimes by OF_LIFETIMES, "bytes", "count");
