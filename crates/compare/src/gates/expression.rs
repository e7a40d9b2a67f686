//! Typed expressions, and their evaluation on a row.
//!
//! Values follow SQL: a comparison or computation with a null is null; `and` and `or` with a null are null unless the
//! other operand decides; `not` null is null. Whole numbers are exact up to 127 bits; larger ones and fractions are
//! floating point. Division yields a fraction, and null for divisor 0.

use regex::Regex;
use std::cmp::Ordering;

/// A value; null is `None` of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar<'a> {
    Truth(bool),
    Whole(i128),
    Real(f64),
    Text(&'a str),
}

impl Scalar<'_> {
    fn real(self) -> Option<f64> {
        match self {
            Self::Whole(whole) => Some(whole as f64),
            Self::Real(real) => Some(real),
            Self::Truth(_) | Self::Text(_) => None,
        }
    }

    fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => Some(a.cmp(&b)),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Truth(a), Self::Truth(b)) => Some(a.cmp(&b)),
            (a, b) => a.real()?.partial_cmp(&b.real()?),
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

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Plus,
    Minus,
    Times,
    Divide,
    Modulo,
}

impl Operation {
    fn of<'a>(self, a: Scalar<'a>, b: Scalar<'a>) -> Option<Scalar<'a>> {
        if let (Scalar::Whole(a), Scalar::Whole(b)) = (a, b) {
            let whole = match self {
                Self::Plus => a.checked_add(b),
                Self::Minus => a.checked_sub(b),
                Self::Times => a.checked_mul(b),
                Self::Modulo => a.checked_rem(b),
                Self::Divide => None,
            };
            if let Some(whole) = whole {
                return Some(Scalar::Whole(whole));
            }
        }
        let (a, b) = (a.real()?, b.real()?);
        let real = match self {
            Self::Plus => a + b,
            Self::Minus => a - b,
            Self::Times => a * b,
            Self::Divide | Self::Modulo if b == 0.0 => return None,
            Self::Divide => a / b,
            Self::Modulo => a % b,
        };
        Some(Scalar::Real(real))
    }
}

/// An operator, applied to one or two operands of its types.
#[derive(Clone, Debug)]
pub(crate) enum Operator {
    Not,
    Negative,
    And,
    Or,
    Compare(Relation),
    Compute(Operation),
    Matches(Box<Regex>),
    IsNull,
}

/// An expression whose types are [checked](super::lower).
#[derive(Clone, Debug)]
pub(crate) enum Expression {
    Constant(Scalar<'static>),
    Text(String),
    Column(usize),
    Applied(Operator, Vec<Self>),
}

impl Expression {
    /// Evaluates on a row, which returns the values of columns.
    pub(crate) fn of<'r>(&'r self, row: &impl Fn(usize) -> Option<Scalar<'r>>) -> Option<Scalar<'r>> {
        match self {
            Self::Constant(value) => Some(*value),
            Self::Text(text) => Some(Scalar::Text(text)),
            Self::Column(column) => row(*column),
            Self::Applied(operator, operands) => operator.of(operands, row),
        }
    }

    /// Evaluates a condition.
    pub(crate) fn holds<'r>(&'r self, row: &impl Fn(usize) -> Option<Scalar<'r>>) -> Option<bool> {
        if let Scalar::Truth(truth) = self.of(row)? { Some(truth) } else { None }
    }

    /// Operands of the top-level conjunction.
    pub(crate) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Applied(Operator::And, operands) => operands.iter().flat_map(Self::parts).collect(),
            other => vec![other],
        }
    }

    /// Columns that it reads.
    pub(crate) fn columns(&self) -> Vec<usize> {
        match self {
            Self::Constant(_) | Self::Text(_) => Vec::new(),
            Self::Column(column) => vec![*column],
            Self::Applied(_, operands) => operands.iter().flat_map(Self::columns).collect(),
        }
    }
}

impl Operator {
    fn of<'r>(&self, operands: &'r [Expression], row: &impl Fn(usize) -> Option<Scalar<'r>>) -> Option<Scalar<'r>> {
        let value = |at: usize| operands.get(at)?.of(row);
        let truth = |at: usize| operands.get(at)?.holds(row);
        let is = match self {
            Self::Negative => return Operation::Minus.of(Scalar::Whole(0), value(0)?),
            Self::Compute(operation) => return operation.of(value(0)?, value(1)?),
            Self::Not => !truth(0)?,
            Self::And | Self::Or => {
                // An operand with this value decides alone.
                let decides = matches!(self, Self::Or);
                let (a, b) = (truth(0), truth(1));
                if a == Some(decides) || b == Some(decides) { decides } else { a.and(b).map(|_| !decides)? }
            }
            Self::Compare(relation) => relation.holds(value(0)?.order(value(1)?)?),
            Self::Matches(pattern) => matches!(value(0)?, Scalar::Text(text) if pattern.is_match(text)),
            Self::IsNull => value(0).is_none(),
        };
        Some(Scalar::Truth(is))
    }
}
