//! The tables of a comparison: `diff_classes`, `diff_chains` and so on.
//!
//! Each compares one table of runs by the fingerprints of its rows. A row is a *subject* (a class, a chain) and one of
//! its *measures*, the numbers compared. All tables have the same columns except the keys, texts that describe the
//! subject.

use crate::column::{
    ColumnSchema, Type, Unit, address, bytes, column, count, flag, joined, percent, probability, real, text, whole,
};
use crate::table::{Runs, TableSchema, table};
use crate::{
    allocation_functions, allocation_types, chains, classes, duplicate_sets, findings, object_lifetimes, owners,
};

/// Defines a table that compares the rows of a table of runs.
#[derive(Clone, Copy, Debug)]
pub struct DiffTable {
    /// Its schema.
    pub table: TableSchema,
    /// The compared table of runs.
    pub compared: &'static TableSchema,
    /// Columns of that table that describe a subject: texts, from the newest run of the target with the row, else of
    /// the base.
    pub keys: &'static [&'static str],
    /// Compared columns of that table. Subjects are ranked by the first.
    pub measures: &'static [&'static str],
}

/// True if a measure of a table of `diff`, `trend` or `rollup` is in bytes: `diff_classes`, `trend_classes` and
/// `rollup_classes` have the same measures.
pub fn is_size(table: &str, measure: &str) -> bool {
    let rows = |table: &'static str| table.split_once('_').map(|(_, rows)| rows);
    let asked = table.split_once('_').map(|(_, rows)| rows);
    let of = TABLES.iter().find(|of| rows(of.table.name) == asked);
    of.and_then(|of| of.compared.column(measure)).is_some_and(|column| column.unit == Unit::Bytes)
}

/// All tables of comparisons of tables.
pub const TABLES: &[DiffTable] =
    &[CLASSES, CHAINS, OWNERS, DUPLICATE_SETS, FINDINGS, ALLOCATION_TYPES, ALLOCATION_FUNCTIONS, LIFETIMES];

/// Change of a subject, in the column `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It grew through a new holder.
    NewPath,
    /// The base does not have it.
    Appeared,
    /// The base does not have it, and only some runs of the target do.
    AppearedOn,
    /// It grew.
    Grew,
    /// It grew on some hosts and is unchanged on the others.
    GrewOnSome,
    /// It shrank.
    Shrank,
    /// It shrank on some hosts.
    ShrankOnSome,
    /// The target does not have it.
    Vanished,
    /// The difference of the sides is within the spread of the runs of a side.
    WithinNoise,
    /// All measures are unchanged.
    Same,
}

impl Status {
    /// All values.
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

    /// Whether the subject grew.
    #[must_use]
    pub fn is_growth(self) -> bool {
        matches!(self, Self::NewPath | Self::Appeared | Self::AppearedOn | Self::Grew | Self::GrewOnSome)
    }
}

/// Basis of a status, in the column `evidence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The tests: `q` is below 0.05.
    Tests,
    /// Too few runs for a test, but all runs of one side lie above all of the other, by a factor.
    Separation,
    /// Both sides have one run.
    Difference,
    /// No evidence.
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

/// Key columns by name: first the required ones, then the optional ones.
macro_rules! keys {
    ($($key:literal),+; $($text:literal),*) => {
        &[
            $(text($key, concat!("`", $key, "` of the table of runs, of an example")),)+
            $(text($text, concat!("`", $text, "` of the table of runs, of an example; null too")).or_null(),)*
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
    text("signature", "Identity as text, the same in every run"),
    address("fingerprint", "XXH3-64 of `signature`"),
    text("measure", "Compared column of the table of runs"),
];

/// The column after [`SUBJECT`]: only runs of one format are compared.
pub(crate) const FORMAT: &[ColumnSchema] = &[text("format", "Input format; only runs of one format are compared")];

/// Number of columns of [`amounts`].
pub(crate) const AMOUNTS: usize = 9;

/// Columns that aggregate a measure over runs, with a prefix of their names.
macro_rules! amounts {
    ($before:literal, $of:literal) => {{
        use $crate::column::{count, whole};
        [
            count(concat!($before, "runs"), concat!("Runs of ", $of, " that have the table")),
            count(concat!($before, "runs_with"), "Of these, runs with the subject"),
            count(concat!($before, "hosts"), "Values of the label `host`; null if none").or_null(),
            count(concat!($before, "hosts_with"), "Of these, hosts with the subject; null too").or_null(),
            whole(concat!($before, "sum"), concat!("Sum over the runs of ", $of, "; null if none has it")).or_null(),
            whole(concat!($before, "mean"), "Mean of the runs that have it; null too").or_null(),
            whole(concat!($before, "median"), "Median; null too").or_null(),
            whole(concat!($before, "p90"), "90 % quantile; null too").or_null(),
            whole(concat!($before, "max"), "Maximum; null too").or_null(),
        ]
    }};
}
pub(crate) use amounts;

const OF_BASE: [ColumnSchema; AMOUNTS] = amounts!("base_", "the base");
const OF_TARGET: [ColumnSchema; AMOUNTS] = amounts!("target_", "the target");

/// The columns of all tables, after the keys.
pub const COLUMNS: &[ColumnSchema] = &joined::<52>(&[
    SUBJECT,
    FORMAT,
    &[
        text(
            "status",
            "Change of the subject by its first measure: `new_path`, `appeared`, `appeared_on`, `grew`, \
             `grew_on_some`, `shrank`, `shrank_on_some`, `vanished`, `within_noise` or `same`",
        ),
        text(
            "evidence",
            "Basis of `status`: `tests`, `separation` (too few runs for a test), `difference` (one run a side) or \
             `none`",
        ),
        address("part_of", "`fingerprint` of the subject that this growth is part of; null if none").or_null(),
    ],
    &OF_BASE,
    &OF_TARGET,
    &[
        whole("delta_sum", "Difference of the means times runs of the target; null if a side lacks it").or_null(),
        real("delta_sum_low", "Lower end of its 95 % interval; null if a side that varies has one run").or_null(),
        real("delta_sum_high", "Upper end; null too").or_null(),
        percent("percent_sum", "`delta_sum` in percent of the base; infinite if only that is 0, null if both are")
            .or_null(),
        whole("delta_mean", "Difference of the means; null if a side lacks it").or_null(),
        whole("delta_median", "Difference of the medians; null too").or_null(),
        percent("percent_median", "The same in percent of the base; infinite and null as `percent_sum`").or_null(),
        real(
            "shift",
            "Hodges-Lehmann shift: median difference between runs of target and base; null with one run a side",
        )
        .or_null(),
        real("shift_low", "Lower end of its 95 % interval; null if too few runs").or_null(),
        real("shift_high", "Upper end; null too").or_null(),
        probability("p_shift", "p of Mann-Whitney: do all runs have more or less; null with one run a side").or_null(),
        probability("p_presence", "p of Fisher's exact test of the runs with the subject; null if undefined").or_null(),
        probability(
            "p_tail",
            "p of Fisher's exact test of the runs above a threshold: do some have far more; null too",
        )
        .or_null(),
        probability("p_paired", "p of the differences on hosts that both sides have; null if none").or_null(),
        probability("p", "All of these combined (Liu and Xie); null with one run a side").or_null(),
        probability(
            "q",
            "`p` corrected for the number of subjects (Benjamini-Hochberg); null too, and if too few runs for a q \
             below 0.05",
        )
        .or_null(),
        count("pairs", "Hosts compared with themselves; null if none").or_null().of_measure(),
        real(
            "smallest_effect",
            "Least growth on all runs detectable with a power of 80 %, corrected for the number of subjects; null if \
             none",
        )
        .or_null(),
        real("smallest_effect_on_tenth", "The same for growth on a tenth of the target's runs; null too").or_null(),
        count(
            "changed_on",
            "Hosts of the target where it changed (runs, without host labels); null if `same` or `within_noise`",
        )
        .or_null(),
        text("changed_on_names", "Their names, largest change first, at most five; null too").or_null(),
        address("class_fingerprint", "`fingerprint` in `diff_classes` of a chain's class; null for other subjects")
            .or_null(),
        column(
            "share",
            Type::Float64,
            Unit::Ratio,
            "Growth of a chain as a part of that of all growing chains of its kind and class; null if it did not grow",
        )
        .or_null(),
        text(
            "grew_through",
            "Signature of the chain of a class that grew most; null if none did or a side lacks chains",
        )
        .or_null(),
        text("grew_through_text", "Its text; null too").or_null(),
        bytes("grew_through_bytes", "Its mean growth per run; null too").or_null(),
        flag("grew_through_new", "Whether the base lacks it; null too").or_null(),
    ],
]);

const NOTES: &[&str] = &["See [comparisons in long form](#comparisons-in-long-form)."];

const ORDER: &str =
    "change of the subject (growth, decline), growth over all runs, `fingerprint`, `format`, the order of the measures";

/// A table that compares the rows of a table of runs.
macro_rules! diff_table {
    ($constant:ident: $name:literal compares $compared:ident by $keys:ident, $($measure:literal),+) => {
        #[doc = concat!("Table `", $name, "`.")]
        pub const $constant: DiffTable = DiffTable {
            table: TableSchema {
                row: concat!("fingerprint in `", stringify!($compared), "` of either side, and measure"),
                order: ORDER,
                runs: Runs::Diff,
                notes: NOTES,
                names_run: false,
                columns: &joined::<{ $keys.len() + COLUMNS.len() }>(&[$keys, COLUMNS]),
                ..table!($name)
            },
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
