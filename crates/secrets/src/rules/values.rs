//! Typed access to the values of a TOML table, with errors that have an offset.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Byte offset of a problem in the text, and its description, one line.
pub type Wrong = (usize, String);

/// A value with its place.
pub(super) type Value<'t> = Spanned<DeValue<'t>>;

fn wrong<T>(value: &Value<'_>, key: &str, expected: &str) -> Result<T, Wrong> {
    Err((value.span().start, format!("{key}: expected {expected}")))
}

pub(super) fn text(key: &str, value: &Value<'_>) -> Result<String, Wrong> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        _ => wrong(value, key, "a text"),
    }
}

pub(super) fn number(key: &str, value: &Value<'_>) -> Result<f64, Wrong> {
    let parsed = match value.get_ref() {
        DeValue::Integer(number) => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    };
    parsed.filter(|number: &f64| number.is_finite()).map_or_else(|| wrong(value, key, "a number"), Ok)
}

pub(super) fn list<'v, 't>(key: &str, value: &'v Value<'t>) -> Result<Vec<&'v Value<'t>>, Wrong> {
    match value.get_ref() {
        DeValue::Array(values) => Ok(values.iter().collect()),
        _ => wrong(value, key, "a list"),
    }
}

pub(super) fn texts(key: &str, value: &Value<'_>) -> Result<Vec<String>, Wrong> {
    list(key, value)?.into_iter().map(|value| text(key, value)).collect()
}

pub(super) fn table<'v, 't>(key: &str, value: &'v Value<'t>) -> Result<&'v DeTable<'t>, Wrong> {
    match value.get_ref() {
        DeValue::Table(table) => Ok(table),
        _ => wrong(value, key, "a table"),
    }
}
