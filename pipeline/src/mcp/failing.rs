//! Errors of libraries as failures of calls, and their values as JSON.

use crate::diagnostic::Diagnostic;
use heaplake_mcp::failure::Failure;
use serde::Serialize;
use serde_json::Value;

/// A result whose error can be told to an agent.
pub(crate) trait OrFail<T> {
    /// Turns the error into a failure with its cause and advice.
    fn or_fail(self) -> Result<T, Failure>;
}

impl<T, E> OrFail<T> for Result<T, E>
where
    Diagnostic: From<E>,
{
    fn or_fail(self) -> Result<T, Failure> {
        self.map_err(|error| {
            let Diagnostic { cause, advice, .. } = error.into();
            Failure::new(cause, advice)
        })
    }
}

/// A value as JSON; null if it cannot be written as such.
pub(crate) fn json_of(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
