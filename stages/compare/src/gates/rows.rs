//! The rows of a batch, as expressions and verdicts see them.

use super::columns::{Column, Kind};
use super::expression::{Amount, Row};
use super::verdict::Found;
use arrow::array::{Array, BooleanArray, Float64Array, Int64Array, StringArray, UInt64Array};
use heaplake_kit::StageError;
use heaplake_kit::text::shorten;
use heaplake_lake::reader::{Batch, value};
use heaplake_schemas::diff::DiffTable;

/// Most characters of a text of a verdict.
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

/// The columns of an expression in a batch.
pub(crate) struct Bound {
    columns: Vec<Values>,
}

impl Bound {
    /// Finds the columns; copies none.
    pub(crate) fn of(columns: &[Column], batch: &Batch) -> Result<Self, StageError> {
        let find = |column: &Column| {
            Ok::<_, StageError>(match column.kind {
                Kind::Text => Values::Texts(batch.texts(column.name)?.clone()),
                Kind::Truth => Values::Truths(batch.flags(column.name)?.clone()),
                Kind::Number if column.is_id => Values::Ids(batch.u64s(column.name)?.clone()),
                Kind::Number if column.is_real => Values::Real(batch.f64s(column.name)?.clone()),
                Kind::Number => Values::Whole(batch.i64s(column.name)?.clone()),
            })
        };
        Ok(Self { columns: columns.iter().map(find).collect::<Result<_, _>>()? })
    }

    pub(crate) fn row(&self, at: usize) -> BoundRow<'_> {
        BoundRow { columns: &self.columns, at }
    }
}

/// A row of a batch.
pub(crate) struct BoundRow<'a> {
    columns: &'a [Values],
    at: usize,
}

impl Row for BoundRow<'_> {
    fn number(&self, column: usize) -> Option<Amount> {
        match &self.columns[column] {
            Values::Whole(values) => value(values, self.at).map(|whole| Amount::Whole(whole.into())),
            Values::Real(values) => value(values, self.at).map(Amount::Real),
            Values::Ids(values) => value(values, self.at).map(|id| Amount::Whole(id.into())),
            Values::Texts(_) | Values::Truths(_) => None,
        }
    }

    fn text(&self, column: usize) -> Option<&str> {
        match &self.columns[column] {
            Values::Texts(values) => values.is_valid(self.at).then(|| values.value(self.at)),
            _ => None,
        }
    }

    fn truth(&self, column: usize) -> Option<bool> {
        match &self.columns[column] {
            Values::Truths(values) => value(values, self.at),
            _ => None,
        }
    }
}

/// What of a row verdicts show: the names of the columns.
pub(crate) struct Shown {
    measure: &'static str,
    subject: &'static str,
    numbers: [String; 5],
    grew_through: Option<&'static str>,
}

impl Shown {
    /// Of a table, with the numbers of a measure.
    pub(crate) fn of(table: &DiffTable, measure: &'static str) -> Self {
        let named = ["message", "text", "class", "owner", "function", "type"];
        let subject = named.into_iter().find(|name| table.keys.contains(name)).unwrap_or("signature");
        let numbers = ["base", "target", "delta", "delta_percent", "q"].map(|field| format!("{field}_{measure}"));
        let has = |name: &&str| table.table.columns.iter().any(|column| column.name == *name);
        Self { measure, subject, numbers, grew_through: Some("grew_through_text").filter(has) }
    }

    /// The columns that it reads.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        let texts = [self.subject, "signature", "status"].into_iter().chain(self.grew_through);
        texts.chain(self.numbers.iter().map(String::as_str))
    }

    /// Reads a row.
    pub(crate) fn read(&self, batch: &Batch, at: usize) -> Result<Found, StageError> {
        let text =
            |name: &str| Ok::<_, StageError>(shorten(value(batch.texts(name)?, at).unwrap_or_default(), LONGEST));
        let whole = |name: &str| Ok::<_, StageError>(value(batch.i64s(name)?, at));
        let real = |name: &str| Ok::<_, StageError>(value(batch.f64s(name)?, at));
        let through = self.grew_through.map(|name| Ok::<_, StageError>(value(batch.texts(name)?, at))).transpose()?;
        let [base, target, delta, delta_percent, q] = &self.numbers;
        Ok(Found {
            subject: text(self.subject)?,
            signature: text("signature")?,
            status: text("status")?,
            measure: self.measure,
            base: whole(base)?,
            target: whole(target)?,
            delta: whole(delta)?,
            delta_percent: real(delta_percent)?,
            q: real(q)?,
            grew_through: through.flatten().map(|text| shorten(text, LONGEST)),
        })
    }
}
