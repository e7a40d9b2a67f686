//! Suggestions of further calls.

use serde_json::{Map, Value, json};

/// A call that an agent may make next.
#[derive(Clone, Debug)]
pub struct Next {
    /// Tool.
    pub tool: &'static str,
    /// Arguments: names of runs, numbers and words of heaplake, never texts of a heap.
    pub arguments: Map<String, Value>,
    /// Reason, one sentence.
    pub because: &'static str,
}

impl Next {
    /// A call of a tool with arguments, of which nulls are left out.
    #[must_use]
    pub fn new(tool: &'static str, arguments: Value, because: &'static str) -> Self {
        let arguments = match arguments {
            Value::Object(members) => members.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            _ => Map::new(),
        };
        Self { tool, arguments, because }
    }

    /// As JSON.
    #[must_use]
    pub fn value(&self) -> Value {
        json!({"tool": self.tool, "arguments": self.arguments, "because": self.because})
    }
}
