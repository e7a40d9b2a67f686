//! `heaplake sql`: statements over all runs of a lake.
//!
//! The engine is behind the feature `sql`; a heaplake without it knows the command and says how to get it.

#[cfg(feature = "sql")]
mod answer;
mod arguments;
#[cfg(feature = "sql")]
mod prompt;
#[cfg(feature = "sql")]
mod writing;

pub use arguments::{Arguments, Format};

#[cfg(not(feature = "sql"))]
use crate::complaint::Complaint;
use crate::complaint::Done;

/// Answers.
///
/// # Errors
/// A [`Complaint`](crate::complaint::Complaint) where a statement cannot be answered.
#[cfg(feature = "sql")]
pub fn run(arguments: &Arguments) -> Done {
    answer::run(arguments)
}

/// Says how to get a heaplake that answers.
///
/// # Errors
/// Always.
#[cfg(not(feature = "sql"))]
pub fn run(_: &Arguments) -> Done {
    let advice = "build it with: cargo build --release --features sql";
    Err(Complaint::usage("this heaplake was built without SQL", advice))
}
