//! Checks of values, compiled. A check of null is unknown, except `is null`.

use super::ast::{Check, Compare, Literal};
use super::parser::regex;
use heaplake_kit::StageError;
use regex::Regex;

/// Outcome of a check in three-valued logic, as in SQL. `and` is the minimum, `or` the maximum, `not` is `2 - x`.
pub(crate) type Verdict = u8;
/// The check fails.
pub(crate) const FALSE: Verdict = 0;
/// A value is null.
pub(crate) const UNKNOWN: Verdict = 1;
/// The check passes.
pub(crate) const TRUE: Verdict = 2;

pub(crate) fn verdict(is: bool) -> Verdict {
    if is { TRUE } else { FALSE }
}

/// A compiled check.
pub(crate) enum Checker {
    /// A comparison with a number.
    Number(Compare, i128),
    /// A comparison with a text.
    Text(Compare, String),
    /// Whether a flag is this.
    Flag(bool),
    /// Whether a regular expression matches, and is that wanted.
    Matches(Regex, bool),
    Contains(String),
    StartsWith(String),
    EndsWith(String),
    /// Sorted numbers.
    Numbers(Vec<i128>),
    /// Sorted texts.
    Texts(Vec<String>),
    /// Sorted flags.
    Flags(Vec<bool>),
    IsNull,
    /// A list of values of several types.
    Any(Vec<Checker>),
}

impl Checker {
    /// Compiles a check.
    ///
    /// # Errors
    /// [`StageError::Refused`] if a regular expression is invalid, which the parser rules out.
    pub(crate) fn of(check: &Check) -> Result<Self, StageError> {
        let compiled = |pattern: &str| {
            regex(pattern).map_err(|problem| StageError::Refused { problem, advice: "write another expression".into() })
        };
        Ok(match check {
            Check::Compare(compare, Literal::Number(number)) => Self::Number(*compare, *number),
            Check::Compare(compare, Literal::Text(text)) => Self::Text(*compare, text.clone()),
            Check::Compare(compare, Literal::Flag(flag)) => Self::Flag(*flag == (*compare == Compare::Equal)),
            Check::Matches(pattern) => Self::Matches(compiled(pattern)?, true),
            Check::MatchesNot(pattern) => Self::Matches(compiled(pattern)?, false),
            Check::Contains(text) => Self::Contains(text.clone()),
            Check::StartsWith(text) => Self::StartsWith(text.clone()),
            Check::EndsWith(text) => Self::EndsWith(text.clone()),
            Check::In(literals) => Self::of_list(literals),
            Check::IsNull => Self::IsNull,
            Check::IsTrue => Self::Flag(true),
        })
    }

    fn of_list(literals: &[Literal]) -> Self {
        let (mut numbers, mut texts, mut flags) = (Vec::new(), Vec::new(), Vec::new());
        for literal in literals {
            match literal {
                Literal::Number(number) => numbers.push(*number),
                Literal::Text(text) => texts.push(text.clone()),
                Literal::Flag(flag) => flags.push(*flag),
            }
        }
        numbers.sort_unstable();
        texts.sort_unstable();
        flags.sort_unstable();
        let mut lists = Vec::new();
        if !numbers.is_empty() {
            lists.push(Self::Numbers(numbers));
        }
        if !texts.is_empty() {
            lists.push(Self::Texts(texts));
        }
        if !flags.is_empty() {
            lists.push(Self::Flags(flags));
        }
        if lists.len() == 1 { lists.remove(0) } else { Self::Any(lists) }
    }

    /// Verdict on a number.
    #[inline]
    pub(crate) fn of_number(&self, number: Option<i128>) -> Verdict {
        match (self, number) {
            (Self::IsNull, number) => verdict(number.is_none()),
            (_, None) => UNKNOWN,
            (Self::Number(compare, other), Some(number)) => verdict(compare.holds(number.cmp(other))),
            (Self::Numbers(numbers), Some(number)) => verdict(numbers.binary_search(&number).is_ok()),
            // The parser lets through checks of numbers only.
            _ => UNKNOWN,
        }
    }

    /// Verdict on all numbers of a range that has nulls or not, if it is the same for all.
    pub(crate) fn of_range(&self, least: i128, most: i128, has_nulls: bool) -> Option<Verdict> {
        let same = match self {
            Self::IsNull if !has_nulls => return Some(FALSE),
            _ if has_nulls => return None,
            Self::Number(compare, other) => {
                let (low, high) = (least.cmp(other), most.cmp(other));
                match compare {
                    // Decided if the number is outside, or all are equal to it.
                    Compare::Equal | Compare::Unequal if low == high => compare.holds(low),
                    Compare::Equal | Compare::Unequal => return None,
                    _ if compare.holds(low) == compare.holds(high) => compare.holds(low),
                    _ => return None,
                }
            }
            Self::Numbers(numbers) if numbers.iter().all(|&number| number < least || number > most) => false,
            _ => return None,
        };
        Some(verdict(same))
    }

    /// Verdict on a text.
    pub(crate) fn of_text(&self, text: Option<&str>) -> Verdict {
        let Some(text) = text else { return if matches!(self, Self::IsNull) { TRUE } else { UNKNOWN } };
        verdict(match self {
            Self::IsNull => false,
            Self::Text(compare, other) => compare.holds(text.cmp(other.as_str())),
            Self::Matches(regex, wanted) => regex.is_match(text) == *wanted,
            Self::Contains(part) => text.contains(part.as_str()),
            Self::StartsWith(part) => text.starts_with(part.as_str()),
            Self::EndsWith(part) => text.ends_with(part.as_str()),
            Self::Texts(texts) => texts.binary_search_by(|other| other.as_str().cmp(text)).is_ok(),
            _ => return UNKNOWN,
        })
    }

    /// Verdict on a flag.
    pub(crate) fn of_flag(&self, flag: Option<bool>) -> Verdict {
        match (self, flag) {
            (Self::IsNull, flag) => verdict(flag.is_none()),
            (Self::Flag(wanted), Some(flag)) => verdict(flag == *wanted),
            (Self::Flags(flags), Some(flag)) => verdict(flags.contains(&flag)),
            _ => UNKNOWN,
        }
    }

    /// Verdict on the value of a field as the table of values has it. The type of the literal says how it is read.
    /// Unknown if the value is no number, or if the input lacks its text.
    pub(crate) fn of_value(&self, kind: &str, value: Option<&str>) -> Verdict {
        if let Self::IsNull = self {
            return verdict(kind == "null");
        }
        if kind == "null" {
            return UNKNOWN;
        }
        match (self, value) {
            (_, None) => UNKNOWN,
            (Self::Any(checkers), _) => checkers.iter().map(|one| one.of_value(kind, value)).max().unwrap_or(FALSE),
            (Self::Number(compare, other), Some(text)) => match text.parse::<i128>() {
                Ok(number) => self.of_number(Some(number)),
                Err(_) => {
                    let order = text.parse::<f64>().ok().and_then(|number| number.partial_cmp(&(*other as f64)));
                    order.map_or(UNKNOWN, |order| verdict(compare.holds(order)))
                }
            },
            (Self::Numbers(_), Some(text)) => self.of_number(text.parse().ok()),
            (Self::Flag(_) | Self::Flags(_), Some(text)) => self.of_flag(text.parse().ok()),
            (_, text) => self.of_text(text),
        }
    }
}
