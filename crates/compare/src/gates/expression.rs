//! Typed expressions, and their evaluation on a row.
//!
//! Values follow SQL: a comparison or computation with a null is null; `and` and `or` with a null are null unless the
//! other operand decides; `not` null is null. Whole numbers are exact up to 127 bits; larger ones and fractions are
//! floating point. Division yields a fraction, and null for divisor 0.

use regex::Regex;
use std::cmp::Ordering;

/// A row for evaluation; columns are positions in [`Expression::columns`](super::lower::Lowered).
pub(crate) trait Row {
    fn number(&self, column: usize) -> Option<Amount>;
    fn text(&self, column: usize) -> Option<&str>;
    fn truth(&self, column: usize) -> Option<bool>;
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Amount {
    Whole(i128),
    Real(f64),
}

impl Amount {
    pub(crate) fn real(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Real(real) => real,
        }
    }

    fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => Some(a.cmp(&b)),
            (a, b) => a.real().partial_cmp(&b.real()),
        }
    }
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Less,
    AtMost,
    Equal,
    Different,
    AtLeast,
    More,
}

impl Relation {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Equal => order.is_eq(),
            Self::Different => order.is_ne(),
            Self::AtLeast => order.is_ge(),
            Self::More => order.is_gt(),
        }
    }
}

/// An expression that is true, false or null.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    Constant(bool),
    Column(usize),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Numbers(Relation, Box<Number>, Box<Number>),
    Texts(Relation, Text, Text),
    /// Both true or both false.
    Alike(Box<Self>, Box<Self>),
    Matches(Text, Box<Regex>),
    IsNull(Box<Value>),
}

/// A number or null.
#[derive(Clone, Debug)]
pub(crate) enum Number {
    Constant(Amount),
    Column(usize),
    Negative(Box<Self>),
    Computed(Operation, Box<Self>, Box<Self>),
}

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Plus,
    Minus,
    Times,
    Divide,
    Modulo,
}

/// A text or null.
#[derive(Clone, Debug)]
pub(crate) enum Text {
    Constant(String),
    Column(usize),
}

/// An expression of any type.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Condition(Condition),
    Number(Number),
    Text(Text),
}

impl Condition {
    /// Evaluates on a row; `None` is null.
    pub(crate) fn of(&self, row: &impl Row) -> Option<bool> {
        match self {
            Self::Constant(value) => Some(*value),
            Self::Column(column) => row.truth(*column),
            Self::Not(condition) => condition.of(row).map(|value| !value),
            Self::And(a, b) => match (a.of(row), b.of(row)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (a, b) => Some(a? && b?),
            },
            Self::Or(a, b) => match (a.of(row), b.of(row)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (a, b) => Some(a? || b?),
            },
            Self::Numbers(relation, a, b) => Some(relation.holds(a.of(row)?.order(b.of(row)?)?)),
            Self::Texts(relation, a, b) => Some(relation.holds(a.of(row)?.cmp(b.of(row)?))),
            Self::Alike(a, b) => Some(a.of(row)? == b.of(row)?),
            Self::Matches(text, pattern) => Some(pattern.is_match(text.of(row)?)),
            Self::IsNull(value) => Some(value.is_null(row)),
        }
    }

    /// Operands of the top-level conjunction.
    pub(crate) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::And(a, b) => [a.parts(), b.parts()].concat(),
            other => vec![other],
        }
    }

    /// Calls `seen` for each column read.
    pub(crate) fn columns(&self, seen: &mut impl FnMut(usize)) {
        match self {
            Self::Constant(_) => {}
            Self::Column(column) => seen(*column),
            Self::Not(condition) => condition.columns(seen),
            Self::And(a, b) | Self::Or(a, b) | Self::Alike(a, b) => {
                a.columns(seen);
                b.columns(seen);
            }
            Self::Numbers(_, a, b) => {
                a.columns(seen);
                b.columns(seen);
            }
            Self::Texts(_, a, b) => [a, b].into_iter().for_each(|text| text.columns(seen)),
            Self::Matches(text, _) => text.columns(seen),
            Self::IsNull(value) => match &**value {
                Value::Condition(condition) => condition.columns(seen),
                Value::Number(number) => number.columns(seen),
                Value::Text(text) => text.columns(seen),
            },
        }
    }
}

impl Number {
    fn of(&self, row: &impl Row) -> Option<Amount> {
        match self {
            Self::Constant(amount) => Some(*amount),
            Self::Column(column) => row.number(*column),
            Self::Negative(number) => Operation::Minus.of(Amount::Whole(0), number.of(row)?),
            Self::Computed(operation, a, b) => operation.of(a.of(row)?, b.of(row)?),
        }
    }

    fn columns(&self, seen: &mut impl FnMut(usize)) {
        match self {
            Self::Constant(_) => {}
            Self::Column(column) => seen(*column),
            Self::Negative(number) => number.columns(seen),
            Self::Computed(_, a, b) => {
                a.columns(seen);
                b.columns(seen);
            }
        }
    }
}

impl Operation {
    fn of(self, a: Amount, b: Amount) -> Option<Amount> {
        if let (Amount::Whole(a), Amount::Whole(b)) = (a, b) {
            let whole = match self {
                Self::Plus => a.checked_add(b),
                Self::Minus => a.checked_sub(b),
                Self::Times => a.checked_mul(b),
                Self::Modulo => a.checked_rem(b),
                Self::Divide => None,
            };
            if let Some(whole) = whole {
                return Some(Amount::Whole(whole));
            }
        }
        let (a, b) = (a.real(), b.real());
        let real = match self {
            Self::Plus => a + b,
            Self::Minus => a - b,
            Self::Times => a * b,
            Self::Divide | Self::Modulo if b == 0.0 => return None,
            Self::Divide => a / b,
            Self::Modulo => a % b,
        };
        Some(Amount::Real(real))
    }
}

impl Text {
    fn of<'a>(&'a self, row: &'a impl Row) -> Option<&'a str> {
        match self {
            Self::Constant(text) => Some(text),
            Self::Column(column) => row.text(*column),
        }
    }

    fn columns(&self, seen: &mut impl FnMut(usize)) {
        if let Self::Column(column) = self {
            seen(*column);
        }
    }
}

impl Value {
    fn is_null(&self, row: &impl Row) -> bool {
        match self {
            Self::Condition(condition) => condition.of(row).is_none(),
            Self::Number(number) => number.of(row).is_none(),
            Self::Text(text) => text.of(row).is_none(),
        }
    }
}
