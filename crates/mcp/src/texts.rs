//! Texts of heaps: data for an agent, never instructions.
//!
//! A class, a string or a file may have any name, also one that reads like an instruction or that hides in invisible
//! characters. So every text under `heap_data` is escaped (control characters, marks of direction, invisible spaces)
//! and cut.

use heaplake_kit::text::visible;
use serde_json::{Map, Value};

/// Characters of a text in an answer.
pub const LONGEST: usize = 300;

/// Escapes invisible characters of a text and cuts it to `most` characters, the last then being `…`.
#[must_use]
pub fn tamed(text: &str, most: usize) -> String {
    // A text may take a megabyte: escape no more than can be shown.
    let beginning: String = text.chars().take(most + 1).collect();
    let shown = visible(&beginning);
    if shown.chars().count() <= most { shown } else { shown.chars().take(most - 1).chain(['…']).collect() }
}

/// Tames all texts of a value, keys included; returns whether one was cut.
pub fn tame(value: &mut Value, most: usize) -> bool {
    match value {
        Value::String(text) => {
            let tame = tamed(text, most);
            let cut = tame.ends_with('…') && !text.ends_with('…');
            *text = tame;
            cut
        }
        Value::Array(values) => values.iter_mut().fold(false, |cut, value| tame(value, most) | cut),
        Value::Object(members) => {
            let mut cut = false;
            let tame_member = |(key, mut value): (String, Value)| {
                cut |= tame(&mut value, most);
                (tamed(&key, most), value)
            };
            let all: Map<String, Value> = std::mem::take(members).into_iter().map(tame_member).collect();
            *members = all;
            cut
        }
        _ => false,
    }
}

/// Removes members that are null, and empty lists and objects: they only take an agent's tokens.
pub fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(without_nulls);
            members.retain(|_, value| {
                !value.is_null()
                    && value.as_array().is_none_or(|list| !list.is_empty())
                    && value.as_object().is_none_or(|members| !members.is_empty())
            });
        }
        Value::Array(values) => values.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_are_escaped_and_cut() {
        assert_eq!(tamed("a\u{1b}[2J\u{202e}b\n", 99), r"a\u{1b}[2J\u{202e}b\n");
        assert_eq!(tamed("abcdef", 4), "abc…");
        assert_eq!(tamed("abcd", 4), "abcd");
        assert_eq!(tamed("\u{1b}\u{1b}", 6), r"\u{1b…");
        let mut value = json!({"a\u{7}": ["x\u{200b}", {"b": "1234567"}], "n": 7});
        assert!(tame(&mut value, 6));
        assert_eq!(value, json!({r"a\u{7}": [r"x\u{2…", {"b": "12345…"}], "n": 7}));
        assert!(!tame(&mut json!({"a": "b…"}), 6));
    }

    #[test]
    fn nulls_go() {
        let mut value = json!({"a": null, "b": [], "c": {"d": null}, "e": [{"f": null, "g": 0}], "h": false});
        without_nulls(&mut value);
        assert_eq!(value, json!({"e": [{"g": 0}], "h": false}));
    }
}
