//! Values of terms in a batch of rows of the table of nodes.

use super::terms::{Kind, Origin, Term};
use heaplake_kit::StageError;
use heaplake_lake::reader::{Batch, Distinct, Flags, Numbers};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::cmp::Ordering;

/// A value of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(untagged)]
pub enum Cell {
    /// No value.
    Null,
    /// A number.
    Number(i128),
    /// A flag.
    Flag(bool),
    /// A text.
    Text(String),
}

impl Cell {
    /// Order of two values; null is after all others, in both directions.
    pub(crate) fn order(&self, other: &Self, descending: bool) -> Ordering {
        let order = match (self, other) {
            (Self::Null, Self::Null) => return Ordering::Equal,
            (Self::Null, _) => return Ordering::Greater,
            (_, Self::Null) => return Ordering::Less,
            (Self::Number(a), Self::Number(b)) => a.cmp(b),
            (Self::Flag(a), Self::Flag(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            // A column has one type.
            _ => Ordering::Equal,
        };
        if descending { order.reverse() } else { order }
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => serializer.serialize_i64(number),
                (_, Ok(number)) => serializer.serialize_u64(number),
                _ => serializer.serialize_i128(*number),
            },
        }
    }
}

/// A column of a batch.
#[derive(Clone, Copy)]
pub(crate) enum Column<'a> {
    Numbers(Numbers<'a>),
    /// Numbers; null where they are the row itself.
    Above(Numbers<'a>),
    /// Codes: 2 is true, 1 is false.
    Codes(Numbers<'a>),
    Flags(Flags<'a>),
    Texts(Distinct<'a>),
    /// Lengths of texts.
    Lengths(Distinct<'a>),
}

impl<'a> Column<'a> {
    /// The column of a term.
    pub(crate) fn of(batch: &'a Batch, term: Term) -> Result<Self, StageError> {
        let described = term.described();
        Ok(match (described.from, described.kind) {
            (Origin::Length, _) => Self::Lengths(batch.distinct(described.column)?),
            (Origin::Detached, _) => Self::Codes(batch.numbers(described.column)?),
            (Origin::Above, _) => Self::Above(batch.numbers(described.column)?),
            (_, Kind::Number | Kind::Bytes) => Self::Numbers(batch.numbers(described.column)?),
            (_, Kind::Flag) => Self::Flags(batch.truths(described.column)?),
            (_, Kind::Text) => Self::Texts(batch.distinct(described.column)?),
        })
    }

    /// Number of a row, whose node is known.
    pub(crate) fn number(&self, row: usize, node: u32) -> Option<i128> {
        match self {
            Self::Numbers(numbers) => numbers.get(row),
            Self::Above(numbers) => numbers.get(row).filter(|&above| above != i128::from(node)),
            Self::Lengths(texts) => texts.text(row).map(length),
            _ => None,
        }
    }

    /// Flag of a row.
    pub(crate) fn flag(&self, row: usize) -> Option<bool> {
        match self {
            Self::Flags(flags) => flags.get(row),
            Self::Codes(numbers) => detached(numbers.get(row)),
            _ => None,
        }
    }

    /// Value of a row.
    pub(crate) fn cell(&self, row: usize, node: u32) -> Cell {
        match self {
            Self::Flags(_) | Self::Codes(_) => self.flag(row).map_or(Cell::Null, Cell::Flag),
            Self::Texts(texts) => texts.text(row).map_or(Cell::Null, |text| Cell::Text(text.to_owned())),
            _ => self.number(row, node).map_or(Cell::Null, Cell::Number),
        }
    }
}

/// Characters of a text.
pub(crate) fn length(text: &str) -> i128 {
    text.chars().count() as i128
}

/// Whether a code of the column `detachedness` is that of a detached node; `None` for objects that are no DOM nodes.
pub(crate) fn detached(code: Option<i128>) -> Option<bool> {
    match code {
        Some(2) => Some(true),
        Some(1) => Some(false),
        _ => None,
    }
}
