//! Columns of tables: name, type, unit, nullability and meaning, declared together.
//!
//! A function per kind of column sets type and unit, as in `bytes("shallow_bytes", "Their sizes")`; such a column is
//! never null unless [`or_null`](ColumnSchema::or_null) says so.

use arrow::datatypes::{DataType, Field, Fields, TimeUnit};
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

/// A column, or a field of a struct in a column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSchema {
    /// Name.
    pub name: &'static str,
    /// Type of its values.
    pub data_type: Type,
    /// Unit of its values.
    pub unit: Unit,
    /// Whether a value can be null: it does not exist, or the input lacks it.
    pub nullable: bool,
    /// Whether the column, of a table in long form, has a value per measure. All other columns describe the subject and
    /// are equal in all its rows.
    pub of_measure: bool,
    /// Its meaning, and when it is null.
    pub meaning: &'static str,
}

impl ColumnSchema {
    /// The same column with nulls.
    #[must_use]
    pub const fn or_null(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// The same column with a value per measure.
    #[must_use]
    pub const fn of_measure(mut self) -> Self {
        self.of_measure = true;
        self
    }

    /// The Arrow field.
    pub fn field(&self) -> Field {
        Field::new(self.name, self.data_type.arrow(), self.nullable)
    }
}

/// The unit of a column, of the elements if it has lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A name, a sentence, a content.
    Text,
    /// True or false.
    Flag,
    /// A point in time.
    Time,
    /// Several fields with units of their own.
    Fields,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// Nanoseconds since 1970.
    Nanoseconds,
    /// Garbage collections.
    Collections,
    /// Number of things.
    Count,
    /// Edges of a path.
    Edges,
    /// Steps of a path or a call chain.
    Steps,
    /// Number of a row of a table, or of something in the input.
    Id,
    /// Id of 64 bits, address or fingerprint.
    Address,
    /// A code, explained with the column.
    Code,
    /// Line, column or index, the first being 0.
    FromZero,
    /// Line or column, the first being 1.
    FromOne,
    /// A part of a whole.
    Ratio,
    /// The unit of the measure of its row.
    Measure,
    /// The same per step of a trend.
    MeasurePerStep,
    /// Percent.
    Percent,
    /// Probability.
    Probability,
    /// Number of a step of a trend.
    Step,
}

impl Display for Unit {
    /// As documentation writes it.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Flag => "true or false",
            Self::Time => "time (UTC)",
            Self::Fields => "fields, see below",
            Self::Bytes => "bytes",
            Self::Seconds => "seconds",
            Self::Nanoseconds => "nanoseconds since 1970",
            Self::Collections => "collections",
            Self::Count => "count",
            Self::Edges => "edges",
            Self::Steps => "steps",
            Self::Id => "id",
            Self::Address => "id or address",
            Self::Code => "code",
            Self::FromZero => "position from 0",
            Self::FromOne => "position from 1",
            Self::Ratio => "part of 1",
            Self::Measure => "as its measure",
            Self::MeasurePerStep => "as its measure, per step",
            Self::Percent => "percent",
            Self::Probability => "probability",
            Self::Step => "step",
        })
    }
}

/// A column of any type and unit, never null.
pub const fn column(name: &'static str, data_type: Type, unit: Unit, meaning: &'static str) -> ColumnSchema {
    let of_measure = matches!(unit, Unit::Measure | Unit::MeasurePerStep | Unit::Percent | Unit::Probability);
    ColumnSchema { name, data_type, unit, nullable: false, of_measure, meaning }
}

/// Defines a function for each kind of column: a line per kind.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $type:ident, $unit:ident;)*) => {
        $(
            $(#[$doc])*
            pub const fn $kind(name: &'static str, meaning: &'static str) -> ColumnSchema {
                column(name, Type::$type, Unit::$unit, meaning)
            }
        )*
    };
}

kinds! {
    /// A text.
    text: Utf8, Text;
    /// True or false.
    flag: Boolean, Flag;
    /// A point in time.
    time: Timestamp, Time;
    /// A number of things.
    count: Int64, Count;
    /// A number of things in 32 bits.
    count_u32: UInt32, Count;
    /// A size.
    bytes: Int64, Bytes;
    /// A duration.
    seconds: Float64, Seconds;
    /// A number of garbage collections.
    collections: Int64, Collections;
    /// The number of a node, a class, a row.
    id: UInt32, Id;
    /// An id of 64 bits, an address or a fingerprint.
    address: UInt64, Address;
    /// A code of 8 bits.
    code: UInt8, Code;
    /// A distance.
    edges: Int32, Edges;
    /// The depth in a path or a tree.
    steps: UInt32, Steps;
    /// A position, the first being 0.
    from_zero: UInt32, FromZero;
    /// A position, the first being 1.
    from_one: UInt32, FromOne;
    /// A whole number in the unit of the measure of its row.
    whole: Int64, Measure;
    /// A number in the unit of the measure of its row.
    real: Float64, Measure;
    /// The same per step of a trend.
    real_per_step: Float64, MeasurePerStep;
    /// A change in percent.
    percent: Float64, Percent;
    /// A probability.
    probability: Float64, Probability;
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
    assert!(next == N, "N is the number of columns");
    all
}

/// Identity of a row, independent of the run: in every table whose rows comparisons match.
pub const SIGNATURE: ColumnSchema =
    text("signature", "Identity of the row as text, the same in every run of the program");

/// The key by which comparisons match rows.
pub const FINGERPRINT: ColumnSchema = address("fingerprint", "XXH3-64 of `signature`");

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
    /// Map from text to text.
    Map,
    /// Values of one type.
    List(&'static Type),
    /// Values of one type, or nulls.
    ListOfOptional(&'static Type),
    /// Several fields.
    Struct(&'static [ColumnSchema]),
}

impl Type {
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
