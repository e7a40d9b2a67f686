//! Rows of a batch, for expressions and verdicts.

use super::columns::{Column, Kind};
use super::expression::{Amount, Row};
use super::verdict::MatchedRow;
use arrow::array::{Array, BooleanArray, Float64Array, Int64Array, StringArray, UInt64Array};
use heaplake_kit::StageError;
use heaplake_kit::text::shorten;
use heaplake_lake::reader::{Batch, value};
use heaplake_schemas::diff::DiffTable;

/// Maximum characters of a text in a verdict.
const LONGEST: usize = 400;

/// A column of a batch.
#[derive(Clone)]
enum Values {
    Whole(Int64Array),
    Real(Float64Array),
    Ids(UInt64Array),
    Texts(StringArray),
    Truths(BooleanArray),
}

/// Columns of an expression, bound to a batch.
pub(crate) struct Bound {
    /// Each with the row offset within the subject.
    columns: Vec<(Values, usize)>,
    /// Rows per subject.
    measures: usize,
}

impl Bound {
    /// Binds columns to a batch with `measures` rows per subject, without copying.
    pub(crate) fn of(columns: &[Column], measures: usize, batch: &Batch) -> Result<Self, StageError> {
        let find = |column: &Column| {
            let values = match column.kind {
                Kind::Text => Values::Texts(batch.texts(column.name)?.clone()),
                Kind::Truth => Values::Truths(batch.flags(column.name)?.clone()),
                Kind::Number if column.is_id => Values::Ids(batch.u64s(column.name)?.clone()),
                Kind::Number if column.is_real => Values::Real(batch.f64s(column.name)?.clone()),
                Kind::Number => Values::Whole(batch.i64s(column.name)?.clone()),
            };
            Ok::<_, StageError>((values, column.measure))
        };
        Ok(Self { columns: columns.iter().map(find).collect::<Result<_, _>>()?, measures })
    }

    /// Returns the subject with first row `first`.
    pub(crate) fn subject(&self, first: usize) -> BoundRow<'_> {
        debug_assert!(first.is_multiple_of(self.measures), "subjects are whole");
        BoundRow { columns: &self.columns, first }
    }
}

/// A subject of a batch.
pub(crate) struct BoundRow<'a> {
    columns: &'a [(Values, usize)],
    first: usize,
}

impl Row for BoundRow<'_> {
    fn number(&self, column: usize) -> Option<Amount> {
        let (values, measure) = &self.columns[column];
        let at = self.first + measure;
        match values {
            Values::Whole(values) => value(values, at).map(|whole| Amount::Whole(whole.into())),
            Values::Real(values) => value(values, at).map(Amount::Real),
            Values::Ids(values) => value(values, at).map(|id| Amount::Whole(id.into())),
            Values::Texts(_) | Values::Truths(_) => None,
        }
    }

    fn text(&self, column: usize) -> Option<&str> {
        let (values, measure) = &self.columns[column];
        let at = self.first + measure;
        match values {
            Values::Texts(values) => values.is_valid(at).then(|| values.value(at)),
            _ => None,
        }
    }

    fn truth(&self, column: usize) -> Option<bool> {
        let (values, measure) = &self.columns[column];
        match values {
            Values::Truths(values) => value(values, self.first + measure),
            _ => None,
        }
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
