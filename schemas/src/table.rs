//! A table as data: names, meanings of rows and columns, and when it is written.
//!
//! A table's file has one constant, its [`TableSchema`]. Its Arrow schema and its section of `docs/tables.md` both come
//! from that constant.

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

/// A table: its schema and its documentation. Texts are Markdown.
#[derive(Clone, Copy, Debug)]
pub struct TableSchema {
    /// Name, as on the command line.
    pub name: &'static str,
    /// File name inside a run.
    pub file: &'static str,
    /// Meaning of a row, as in "one row per …".
    pub row: &'static str,
    /// The order of the rows, as in "sorted by …"; empty for a table of one row.
    pub order: &'static str,
    /// Commands whose runs have it.
    pub runs: Runs,
    /// When it is written, as in "written …"; `None` for a table that every such run has by default.
    pub condition: Option<&'static str>,
    /// What a reader must know beyond the columns, a paragraph each.
    pub notes: &'static [&'static str],
    /// Whether it begins with [`RUN_COLUMNS`].
    pub names_run: bool,
    /// Its own columns, in order.
    pub columns: &'static [ColumnSchema],
}

impl TableSchema {
    /// All columns, in order.
    pub fn all_columns(&self) -> impl Iterator<Item = &'static ColumnSchema> {
        let of_run = if self.names_run { RUN_COLUMNS } else { &[] };
        of_run.iter().chain(self.columns)
    }

    /// The Arrow schema.
    pub fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.all_columns().map(ColumnSchema::field).collect::<Fields>()))
    }
}

/// The first columns of every table but `duplicate_members`: the run of a row. Folder names have the same values, but
/// some readers take these for numbers or dates, and others ignore them.
pub const RUN_COLUMNS: &[ColumnSchema] = &[
    required("release", Type::Utf8, "Release that the run belongs to"),
    required("snapshot", Type::Utf8, "Name of the run"),
];

/// Whether a schema begins with [`RUN_COLUMNS`].
pub fn has_run_columns(schema: &Schema) -> bool {
    let names = schema.fields().iter().map(|field| field.name().as_str());
    names.take(RUN_COLUMNS.len()).eq(RUN_COLUMNS.iter().map(|column| column.name))
}

/// The commands that write a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// `heaplake analyze`.
    Analyze,
    /// `heaplake replay`.
    Replay,
    /// Both commands.
    Both,
    /// `heaplake diff`, which writes tables but no run.
    Diff,
    /// `heaplake trend`, likewise.
    Trend,
    /// `heaplake fleet rollup`, likewise.
    Rollup,
}

impl Runs {
    /// Whether runs have the table; otherwise the folder of a command that reads runs has it.
    #[must_use]
    pub const fn have_it(self) -> bool {
        matches!(self, Self::Analyze | Self::Replay | Self::Both)
    }
}

/// Columns of tables in long form that depend on the measure and have its unit. Those of a side are prefixed with
/// `base_` or `target_`.
const IN_ITS_UNIT: [&str; 12] = [
    "sum",
    "mean",
    "median",
    "p90",
    "max",
    "min",
    "p99",
    "delta_sum",
    "delta_sum_low",
    "delta_sum_high",
    "delta_mean",
    "delta_median",
];

/// Columns that depend on the measure and have another unit.
const IN_ANOTHER_UNIT: [&str; 21] = [
    "percent_sum",
    "percent_median",
    "shift",
    "shift_low",
    "shift_high",
    "p_shift",
    "p_presence",
    "p_tail",
    "p_paired",
    "p",
    "q",
    "pairs",
    "smallest_effect",
    "smallest_effect_on_tenth",
    "shape",
    "slope",
    "slope_low",
    "slope_high",
    "first_growth",
    "grown_on",
    "grown_on_names",
];

/// Name of a column without the side.
fn without_side(name: &str) -> &str {
    name.strip_prefix("base_").or_else(|| name.strip_prefix("target_")).unwrap_or(name)
}

/// A column, or a field of a struct in a column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSchema {
    /// Name.
    pub name: &'static str,
    /// Type of its values.
    pub data_type: Type,
    /// Whether a value can be null: it does not exist, or the input lacks it.
    pub nullable: bool,
    /// Its meaning, and when it is null.
    pub meaning: &'static str,
}

impl ColumnSchema {
    /// Whether the column, of a table in long form, has a value per measure. All other columns describe the subject and
    /// are equal in all its rows.
    pub fn is_of_measure(&self) -> bool {
        let name = without_side(self.name);
        IN_ITS_UNIT.contains(&name) || IN_ANOTHER_UNIT.contains(&name)
    }

    /// Unit of the values, from type and name of the column; `None` if these follow no rule.
    pub fn unit(&self) -> Option<&'static str> {
        let named = |endings: &[&str]| {
            let ends = |ending: &&str| {
                self.name.strip_suffix(*ending).is_some_and(|rest| !rest.ends_with(char::is_alphabetic))
            };
            endings.iter().any(ends)
        };
        if ["p", "q"].contains(&self.name) || self.name.starts_with("p_") {
            return Some("probability");
        }
        if IN_ITS_UNIT.contains(&without_side(self.name)) {
            return Some("as its measure");
        }
        for (prefix, unit) in [("percent_", "percent"), ("first_growth", "step"), ("slope", "as its measure, per step")]
        {
            if self.name.starts_with(prefix) {
                return Some(unit);
            }
        }
        Some(match self.data_type.innermost() {
            Type::Boolean => "true or false",
            Type::Utf8 | Type::Map => "text",
            Type::Timestamp => "time (UTC)",
            Type::Struct(_) => "fields, see below",
            Type::Int64 | Type::Float64 if named(&["bytes"]) => "bytes",
            Type::Int64 | Type::Float64 if named(&["seconds"]) => "seconds",
            Type::Int64 | Type::Float64 if named(&["gcs"]) => "collections",
            Type::Int64 => "count",
            Type::Float64 if self.name == "share" => "part of 1",
            Type::Float64 => "as its measure",
            Type::UInt64 => "id or address",
            Type::Int32 if named(&["distance"]) => "edges",
            Type::UInt32 if named(&["count"]) => "count",
            Type::UInt32 if named(&["depth"]) => "steps",
            Type::UInt32 if named(&["line", "column"]) && self.meaning.contains("from 1") => "position from 1",
            Type::UInt32 if named(&["line", "column", "index"]) => "position from 0",
            Type::UInt32 => "id",
            Type::UInt8 => "code",
            _ => return None,
        })
    }

    fn field(&self) -> Field {
        Field::new(self.name, self.data_type.arrow(), self.nullable)
    }
}

/// A column that is never null.
pub const fn required(name: &'static str, data_type: Type, meaning: &'static str) -> ColumnSchema {
    ColumnSchema { name, data_type, nullable: false, meaning }
}

/// A column that may be null.
pub const fn optional(name: &'static str, data_type: Type, meaning: &'static str) -> ColumnSchema {
    ColumnSchema { name, data_type, nullable: true, meaning }
}

/// Concatenates lists of columns, `N` columns in all.
pub const fn joined<const N: usize>(lists: &[&[ColumnSchema]]) -> [ColumnSchema; N] {
    let mut all = [SIGNATURE; N];
    let (mut list, mut next) = (0, 0);
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            all[next] = lists[list][at];
            (next, at) = (next + 1, at + 1);
        }
        list += 1;
    }
    assert!(next == N, "there are as many columns as is said");
    all
}

/// Identity of a row, independent of the run: in every table whose rows comparisons match.
pub const SIGNATURE: ColumnSchema =
    required("signature", Type::Utf8, "Identity of the row as text, the same in every run of the program");

/// The key by which comparisons match rows.
pub const FINGERPRINT: ColumnSchema = required("fingerprint", Type::UInt64, "XXH3-64 of `signature`");

/// The Arrow fields of columns, or of a struct.
pub fn fields(columns: &[ColumnSchema]) -> Fields {
    columns.iter().map(ColumnSchema::field).collect()
}

/// The type of a column: the subset of [`DataType`] that tables use, as constants.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// True or false.
    Boolean,
    /// 8 bits, unsigned.
    UInt8,
    /// 32 bits, unsigned.
    UInt32,
    /// 64 bits, unsigned: ids and addresses.
    UInt64,
    /// 64 bits, signed: counts and sizes, so that differences of two runs are signed.
    Int64,
    /// 32 bits, signed.
    Int32,
    /// Floating point, 64 bits.
    Float64,
    /// UTF-8.
    Utf8,
    /// Microseconds since 1970, UTC.
    Timestamp,
    /// Texts by text.
    Map,
    /// Values of one type.
    List(&'static Type),
    /// Values of one type, or nulls.
    ListOfOptional(&'static Type),
    /// Several fields.
    Struct(&'static [ColumnSchema]),
}

impl Type {
    /// The element type of a list, else the type itself.
    fn innermost(&self) -> &Self {
        match self {
            Self::List(item) | Self::ListOfOptional(item) => item.innermost(),
            plain => plain,
        }
    }

    /// The Arrow type.
    pub fn arrow(&self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::UInt8 => DataType::UInt8,
            Self::UInt32 => DataType::UInt32,
            Self::UInt64 => DataType::UInt64,
            Self::Int64 => DataType::Int64,
            Self::Int32 => DataType::Int32,
            Self::Float64 => DataType::Float64,
            Self::Utf8 => DataType::Utf8,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Map => DataType::Map(Arc::new(entries()), false),
            Self::List(item) => DataType::List(Arc::new(element(item, false))),
            Self::ListOfOptional(item) => DataType::List(Arc::new(element(item, true))),
            Self::Struct(columns) => DataType::Struct(fields(columns)),
        }
    }
}

/// The element of a list.
pub fn element(item: &Type, nullable: bool) -> Field {
    Field::new("item", item.arrow(), nullable)
}

/// The entries of a map.
fn entries() -> Field {
    let pair = vec![Field::new("keys", DataType::Utf8, false), Field::new("values", DataType::Utf8, true)];
    Field::new("entries", DataType::Struct(pair.into()), false)
}

impl Display for Type {
    /// As documentation writes it; without the fields of a struct.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timestamp => write!(f, "Timestamp(µs, UTC)"),
            Self::Map => write!(f, "Map<Utf8, Utf8>"),
            Self::List(item) | Self::ListOfOptional(item) => write!(f, "List<{item}>"),
            Self::Struct(_) => write!(f, "Struct"),
            plain => write!(f, "{plain:?}"),
        }
    }
}
