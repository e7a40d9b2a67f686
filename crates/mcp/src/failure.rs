//! Calls that could not be answered: cause, advice and further calls.

use crate::next::Next;
use crate::texts::tamed;
use serde_json::{Value, json};

/// A call that could not be answered.
#[derive(Clone, Debug, Default)]
pub struct Failure {
    /// Cause, one line.
    pub problem: String,
    /// Advice, one line.
    pub advice: String,
    /// Names near to the one that was not found.
    pub nearest: Vec<String>,
    /// Calls that may help.
    pub next: Vec<Next>,
}

/// Characters of a problem or an advice.
const LINE: usize = 400;

impl Failure {
    /// A failure with advice.
    pub fn new(problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { problem: problem.into(), advice: advice.into(), ..Self::default() }
    }

    /// Adds names that may have been meant.
    #[must_use]
    pub fn near(self, nearest: Vec<String>) -> Self {
        Self { nearest, ..self }
    }

    /// Adds calls that may help.
    #[must_use]
    pub fn then(self, next: Vec<Next>) -> Self {
        Self { next, ..self }
    }

    /// The failure as an answer. Names and causes may quote texts of heaps, so they are escaped and cut.
    #[must_use]
    pub fn value(&self) -> Value {
        let mut value = json!({
            "error": tamed(&self.problem, LINE),
            "advice": tamed(&self.advice, LINE),
        });
        if !self.nearest.is_empty() {
            value["nearest"] = self.nearest.iter().map(|name| tamed(name, LINE)).collect();
        }
        if !self.next.is_empty() {
            value["next"] = self.next.iter().map(Next::value).collect();
        }
        value
    }
}
