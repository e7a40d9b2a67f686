//! Arguments of a call, read by name and type.

use crate::failure::Failure;
use serde_json::{Map, Value};

/// Arguments of every tool: those of pages.
pub const OF_PAGES: [&str; 3] = ["cursor", "limit", "max_bytes"];
/// Longest text of an argument, bytes.
const LONGEST: usize = 16 << 10;

/// The arguments of a call.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    members: Map<String, Value>,
}

impl Arguments {
    /// Arguments as the protocol brings them. Nulls count as absent.
    #[must_use]
    pub fn new(mut members: Map<String, Value>) -> Self {
        members.retain(|_, value| !value.is_null());
        Self { members }
    }

    /// Names of all arguments.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// The arguments without those of pages, as JSON with sorted names.
    pub(crate) fn without_page(&self) -> String {
        let mut named: Vec<_> = self.members.iter().filter(|(name, _)| !OF_PAGES.contains(&name.as_str())).collect();
        named.sort_by_key(|(name, _)| name.as_str());
        named.into_iter().map(|(name, value)| format!("{name}={value}\n")).collect()
    }

    /// A text. A number is taken as its digits, since agents write ids either way.
    ///
    /// # Errors
    /// Another type, or a text of more than 16 KiB.
    pub fn text(&self, name: &str) -> Result<Option<String>, Failure> {
        let text = match self.members.get(name) {
            None => return Ok(None),
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(other) => return Err(mistyped(name, "a text", other)),
        };
        if text.len() > LONGEST {
            let problem = format!("argument {name}: expected at most {LONGEST} bytes, found {}", text.len());
            return Err(Failure::new(problem, "shorten it"));
        }
        Ok(Some(text))
    }

    /// A whole number, not negative. Its digits as a text do as well; a number beyond 64 bits is the largest one.
    ///
    /// # Errors
    /// Another type or text.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        let Some(value) = self.members.get(name) else { return Ok(None) };
        let number = match value {
            Value::Number(number) => {
                number.as_u64().or_else(|| number.as_f64().filter(|far| *far >= 1e15).map(|_| u64::MAX))
            }
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        number.map(Some).ok_or_else(|| mistyped(name, "a whole number from 0", value))
    }

    /// One of some words; the first of them is the default.
    ///
    /// # Errors
    /// Another word.
    pub fn choice(&self, name: &str, words: &[&'static str]) -> Result<&'static str, Failure> {
        let Some(text) = self.text(name)? else { return Ok(words[0]) };
        words.iter().find(|word| **word == text).copied().ok_or_else(|| {
            let problem = format!("argument {name}: expected one of {}, found {text:?}", words.join(", "));
            Failure::new(problem, format!("leave {name} out for {}", words[0]))
        })
    }
}

fn mistyped(name: &str, expected: &str, found: &Value) -> Failure {
    let kind = match found {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("{text:?}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    Failure::new(format!("argument {name}: expected {expected}, found {kind}"), "tools/list has the types of arguments")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_by_type() {
        let arguments = Arguments::new(
            json!({"a": "x", "b": 7, "c": "12", "d": null, "e": -1, "f": [1], "g": 1e300, "h": 0.5, "i": true})
                .as_object()
                .cloned()
                .unwrap(),
        );
        assert_eq!(arguments.text("a").unwrap().as_deref(), Some("x"));
        assert_eq!(arguments.text("b").unwrap().as_deref(), Some("7"));
        assert_eq!((arguments.number("b").unwrap(), arguments.number("c").unwrap()), (Some(7), Some(12)));
        assert_eq!((arguments.number("d").unwrap(), arguments.text("z").unwrap()), (None, None));
        assert_eq!(arguments.number("g").unwrap(), Some(u64::MAX));
        for bad in ["a", "e", "f", "h", "i"] {
            assert!(arguments.number(bad).unwrap_err().problem.contains("a whole number"), "{bad}");
        }
        assert!(arguments.text("f").is_err() && arguments.text("i").is_err());
        assert_eq!(arguments.choice("z", &["p", "q"]).unwrap(), "p");
        assert!(arguments.choice("a", &["p", "q"]).unwrap_err().problem.contains("p, q"));
    }

    #[test]
    fn long_texts_are_refused() {
        let long = Arguments::new([("a".to_owned(), json!("x".repeat(20_000)))].into_iter().collect());
        assert!(long.text("a").unwrap_err().problem.contains("20000"));
    }
}
