//! JSON Schemas of arguments and answers.

use crate::answer::{BOUNDS, BYTES, ROWS};
use crate::tool::Tool;
use serde_json::{Map, Value, json};

/// A text with a meaning.
#[must_use]
pub fn text(meaning: &str) -> Value {
    json!({"type": "string", "description": meaning})
}

/// A whole number with a meaning.
#[must_use]
pub fn number(meaning: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": meaning})
}

/// A number, or a text: a name or an id.
#[must_use]
pub fn name_or_number(meaning: &str) -> Value {
    json!({"type": ["integer", "string"], "description": meaning})
}

/// One of some words, the first of which is the default.
#[must_use]
pub fn choice(words: &[&str], meaning: &str) -> Value {
    json!({"type": "string", "enum": words, "default": words[0], "description": meaning})
}

/// A list of objects with a meaning.
#[must_use]
pub fn rows(meaning: &str) -> Value {
    json!({"type": "array", "description": meaning})
}

/// An object with a meaning.
#[must_use]
pub fn object(meaning: &str) -> Value {
    json!({"type": "object", "description": meaning})
}

/// Members by name.
#[must_use]
pub fn members<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

/// Schema of the arguments of a tool.
#[must_use]
pub fn of_arguments(tool: &Tool) -> Map<String, Value> {
    let mut properties = tool.arguments.clone();
    properties.insert("cursor".to_owned(), json!({"type": "string"}));
    properties.insert("limit".to_owned(), json!({"type": "integer", "minimum": 1, "maximum": ROWS}));
    properties.insert(
        "max_bytes".to_owned(),
        json!({"type": "integer", "minimum": BOUNDS.0, "maximum": BOUNDS.1, "default": BYTES}),
    );
    members([("type", json!("object")), ("properties", json!(properties)), ("additionalProperties", json!(false))])
}

/// Schema of the answers of a tool.
#[must_use]
pub fn of_answer(tool: &Tool) -> Map<String, Value> {
    // Brief, because clients put the schemas of all tools into the context of the model.
    let properties = json!({
        "of": {"type": "string"},
        "coverage": {
            "type": "object",
            "properties": {"population": {"type": "string"}, "total": {"type": "integer"}, "cursor": {"type": "string"}}
        },
        "heap_data": {"type": "object", "properties": tool.data},
        "notes": {"type": "array", "items": {"type": "string"}},
        "next": {"type": "array", "items": {"type": "object"}}
    });
    members([
        ("type", json!("object")),
        ("properties", properties),
        ("required", json!(["of", "coverage", "heap_data", "next"])),
    ])
}
