//! The text of a description with other labels.
//!
//! Only the value of `options.labels` and the seal change; every other byte stays. A description without that member, of
//! an older version, is written anew as a whole. One without a seal gets none: a reader takes what a sealed description
//! lacks for unknown.

use crate::json_text::json_text;
use crate::{commit, seal};
use heaplake_kit::StageError;
use heaplake_schemas::options::Options;
use heaplake_schemas::run::{self, Run};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Returns the text of the description of `place` with these labels.
///
/// # Errors
/// [`StageError::Table`] if the text is not the description of a run.
pub(super) fn relabelled(place: &Path, text: &[u8], labels: &BTreeMap<String, String>) -> Result<String, StageError> {
    let damaged = |problem: String| StageError::Table { path: place.join(run::FILE), problem };
    let mut wanted = commit::parse(place, text)?;
    let text = std::str::from_utf8(text).map_err(|error| damaged(error.to_string()))?;
    *labels_of(&mut wanted.options) = labels.clone();
    let is_sealed = wanted.seal.is_some();
    let object = if is_sealed { seal::unsealed(text) } else { Some(text.to_owned()) };
    let object = object.ok_or_else(|| damaged(format!("{} does not fit its seal", run::FILE)))?;
    let wanted = Run { seal: None, ..wanted };
    let is_wanted = |object: &String| commit::parse(place, object.as_bytes()).is_ok_and(|run| run == wanted);
    let object = match replaced(&object, labels).filter(is_wanted) {
        Some(object) => object,
        None => json_text(&wanted).map_err(|error| damaged(error.to_string()))?,
    };
    Ok(if is_sealed { seal::sealed(&object).0 } else { object })
}

fn labels_of(options: &mut Options) -> &mut BTreeMap<String, String> {
    match options {
        Options::Analysis(options) => &mut options.labels,
        Options::Replay(options) => &mut options.labels,
    }
}

/// Replaces the value of `options.labels`, in the form of the text around it.
fn replaced(object: &str, labels: &BTreeMap<String, String>) -> Option<String> {
    let options = member(object.as_bytes(), 0, "options")?;
    let old = member(object.as_bytes(), options.start, "labels")?;
    let new = match object.starts_with("{\n") {
        // Members of `options` are indented by four spaces.
        true => serde_json::to_string_pretty(labels).ok()?.replace('\n', "\n    "),
        false => serde_json::to_string(labels).ok()?,
    };
    Some(format!("{}{new}{}", object.get(..old.start)?, object.get(old.end..)?))
}

/// Range of the value of a member of the object that begins at `from`.
fn member(text: &[u8], from: usize, name: &str) -> Option<Range<usize>> {
    let mut at = from + 1;
    if text.get(from) != Some(&b'{') {
        return None;
    }
    loop {
        at = past_space(text, at);
        match text.get(at)? {
            b',' => at += 1,
            b'"' => {
                let key = at..string_end(text, at)?;
                let colon = past_space(text, key.end);
                if text.get(colon) != Some(&b':') {
                    return None;
                }
                let value = past_space(text, colon + 1);
                let value = value..value_end(text, value)?;
                if text.get(key.start + 1..key.end - 1) == Some(name.as_bytes()) {
                    return Some(value);
                }
                at = value.end;
            }
            _ => return None,
        }
    }
}

fn past_space(text: &[u8], from: usize) -> usize {
    from + text.iter().skip(from).take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// End of the string that begins at `from`.
fn string_end(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from + 1;
    loop {
        match text.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// End of the value that begins at `from`.
fn value_end(text: &[u8], from: usize) -> Option<usize> {
    let (mut at, mut depth) = (from, 0_usize);
    loop {
        match text.get(at)? {
            b'"' => at = string_end(text, at)?,
            b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
            b',' | b'}' | b']' if depth == 0 => return Some(at),
            b'}' | b']' => (at, depth) = (at + 1, depth - 1),
            _ => at += 1,
        }
        // A string or a composite value ends here; a number ends before the next sign.
        if depth == 0 && matches!(text.get(at - 1), Some(b'"' | b'}' | b']')) {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn only_the_labels_change() {
        let before = "{\n  \"source\": \"a \\\"labels\\\": {\",\n  \"bytes\": 1.50,\n  \"options\": {\n    \"tables\": [\"a\"],\n    \
                      \"labels\": {\n      \"host\": \"}\"\n    },\n    \"x\": null\n  },\n  \"labels\": {}\n}";
        let after = replaced(before, &labels(&[("env", "a\nb"), ("host", "web")])).unwrap();
        let expected = before.replace("\"host\": \"}\"", "\"env\": \"a\\nb\",\n      \"host\": \"web\"");
        assert_eq!(after, expected);
        assert_eq!(replaced(&after, &labels(&[("host", "}")])).as_deref(), Some(before));
        let none = replaced(before, &labels(&[])).unwrap();
        assert!(none.contains("\"labels\": {},\n    \"x\""), "{none}");
    }

    #[test]
    fn a_text_on_one_line_stays_so() {
        let before = r#"{"a":[{"options":1}],"options":{"labels":{},"b":2},"c":3}"#;
        let after = replaced(before, &labels(&[("k", "v")])).unwrap();
        assert_eq!(after, r#"{"a":[{"options":1}],"options":{"labels":{"k":"v"},"b":2},"c":3}"#);
    }

    #[test]
    fn other_texts_have_no_labels() {
        for text in
            ["", "[]", "{}", "{\"options\":1}", "{\"options\":{}}", "{\"options\":{\"labels\":{", "{\"options\" 1"]
        {
            assert_eq!(replaced(text, &labels(&[])), None, "{text}");
        }
    }
}
