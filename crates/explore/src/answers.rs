//! Questions of the page.

use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;

/// What became of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Answered {
    /// The answer.
    Found(Value),
    /// The question cannot be answered: cause and advice as JSON.
    Refused(Value),
    /// The work failed: a defect of heaplake.
    Failed(Value),
    /// There is no such question.
    Unknown,
}

/// What answers questions.
pub trait Answers: Send + Sync + 'static {
    /// Answers the question `/api/QUESTION?NAME=VALUE&…`. Work that may take long polls `cancel`, which is set when nobody
    /// waits for the answer.
    fn answer(&self, question: &str, arguments: Map<String, Value>, cancel: &AtomicBool) -> Answered;
}
