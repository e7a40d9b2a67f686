//! Tools that an agent can call.

use crate::arguments::Arguments;
use crate::failure::Failure;
use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;

/// The declaration of a tool.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Name, one word.
    pub name: &'static str,
    /// The question that it answers, in a sentence or two.
    pub description: &'static str,
    /// Its arguments besides those of pages: JSON Schemas by name.
    pub arguments: Map<String, Value>,
    /// The members of `heap_data`: JSON Schemas by name.
    pub data: Map<String, Value>,
}

/// A set of tools.
pub trait Tools: Send + Sync + 'static {
    /// The text that an agent reads before its first call.
    fn instructions(&self) -> String;

    /// The tools, in the order in which they are listed.
    fn tools(&self) -> Vec<Tool>;

    /// Answers a call of a listed tool. Work that may take long polls `cancel`.
    ///
    /// # Errors
    /// [`Failure`] with advice. The server goes on.
    fn call(&self, tool: &str, arguments: &Arguments, cancel: &AtomicBool) -> Result<Value, Failure>;
}
