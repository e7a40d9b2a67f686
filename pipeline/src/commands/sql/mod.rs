//! `heaplake sql`: SQL over all runs of a lake.
//!
//! The engine is behind the feature `sql`; a heaplake without it accepts the command and explains how to get it.

#[cfg(feature = "sql")]
mod answer;
mod arguments;
#[cfg(feature = "sql")]
mod prompt;
#[cfg(feature = "sql")]
mod writing;

pub(super) use arguments::Arguments;

#[cfg(not(feature = "sql"))]
use crate::diagnostic::Diagnostic;
use crate::diagnostic::Done;

/// Runs the command.
#[cfg(feature = "sql")]
pub(crate) fn run(arguments: &Arguments) -> Done {
    answer::run(arguments)
}

/// Refuses, with advice on how to build with SQL.
#[cfg(not(feature = "sql"))]
pub(crate) fn run(_: &Arguments) -> Done {
    let advice = "build it with: cargo build --release --features sql";
    Err(Diagnostic::usage("this heaplake was built without SQL", advice))
}
