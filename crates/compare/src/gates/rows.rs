//! Rows of a batch, for expressions and verdicts.

use super::columns::{Column, Kind};
use super::expression::Scalar;
use super::verdict::MatchedRow;
use arrow::array::{BooleanArray, Float64Array, Int64Array, StringArray, UInt64Array};
use heaplake_kit::StageError;
use heaplake_kit::text::shorten;
use heaplake_lake::reader::{Batch, value};
use heaplake_schemas::diff::DiffTable;

/// Maximum characters of a text in a verdict.
const LONGEST: usize = 400;

/// Columns of an expression, bound to a batch: each with the row offset within the subject.
pub(crate) struct Bound<'a>(Vec<(Values<'a>, usize)>);

/// A column of a batch.
enum Values<'a> {
    Whole(&'a Int64Array),
    Real(&'a Float64Array),
    Ids(&'a UInt64Array),
    Texts(&'a StringArray),
    Truths(&'a BooleanArray),
}

impl<'a> Bound<'a> {
    /// Binds columns to a batch.
    pub(crate) fn of(columns: &[Column], batch: &'a Batch) -> Result<Self, StageError> {
        let find = |column: &Column| {
            let values = match column.kind {
                Kind::Text => Values::Texts(batch.texts(column.name)?),
                Kind::Truth => Values::Truths(batch.flags(column.name)?),
                Kind::Number if column.is_id => Values::Ids(batch.u64s(column.name)?),
                Kind::Number if column.is_real => Values::Real(batch.f64s(column.name)?),
                Kind::Number => Values::Whole(batch.i64s(column.name)?),
            };
            Ok((values, column.measure))
        };
        columns.iter().map(find).collect::<Result<_, _>>().map(Self)
    }

    /// Returns a column of the subject with first row `first`.
    pub(crate) fn value(&self, first: usize, column: usize) -> Option<Scalar<'a>> {
        let (values, measure) = &self.0[column];
        let at = first + measure;
        Some(match values {
            Values::Whole(values) => Scalar::Whole(value(*values, at)?.into()),
            Values::Real(values) => Scalar::Real(value(*values, at)?),
            Values::Ids(values) => Scalar::Whole(value(*values, at)?.into()),
            Values::Texts(values) => Scalar::Text(value(*values, at)?),
            Values::Truths(values) => Scalar::Truth(value(*values, at)?),
        })
    }
}

/// Columns of a subject that verdicts show.
pub(crate) struct Shown {
    measure: &'static str,
    /// Position of the measure.
    at: usize,
    subject: &'static str,
}

/// Columns shown, besides the text that identifies the subject.
const SHOWN: [&str; 11] = [
    "signature",
    "status",
    "part_of",
    "base_mean",
    "target_mean",
    "delta_sum",
    "percent_sum",
    "q",
    "changed_on",
    "target_runs",
    "grew_through_text",
];

impl Shown {
    /// Selects the columns of a table and measure.
    pub(crate) fn of(table: &DiffTable, measure: &'static str) -> Self {
        let named = ["message", "text", "class", "owner", "function", "type"];
        let subject = named.into_iter().find(|name| table.keys.contains(name)).unwrap_or("signature");
        let at = table.measures.iter().position(|other| *other == measure).unwrap_or(0);
        Self { measure, at, subject }
    }

    /// Columns that it reads.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        SHOWN.into_iter().chain([self.subject])
    }

    /// Reads the subject with first row `first`.
    pub(crate) fn read(&self, batch: &Batch, first: usize) -> Result<MatchedRow, StageError> {
        let at = first + self.at;
        let text =
            |name: &str| Ok::<_, StageError>(shorten(value(batch.texts(name)?, at).unwrap_or_default(), LONGEST));
        let whole = |name: &str| Ok::<_, StageError>(value(batch.i64s(name)?, at));
        let real = |name: &str| Ok::<_, StageError>(value(batch.f64s(name)?, at));
        Ok(MatchedRow {
            subject: text(self.subject)?,
            signature: text("signature")?,
            status: text("status")?,
            measure: self.measure,
            base: whole("base_mean")?,
            target: whole("target_mean")?,
            delta: whole("delta_sum")?,
            percent: real("percent_sum")?,
            q: real("q")?,
            changed_on: whole("changed_on")?,
            of: whole("target_runs")?.unwrap_or(0),
            grew_through: value(batch.texts("grew_through_text")?, at).map(|text| shorten(text, LONGEST)),
        })
    }
}
