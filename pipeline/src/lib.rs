//! The binary: command line, engine, output for people. The only crate that knows every stage.
//!
//! [`commands`] implements the command line for `main`; [`engine`] takes one input through all stages; [`mod@print`]
//! writes to standard output, [`log`] and [`progress`] to standard error; [`diagnostic`] turns failures into diagnostics
//! and exit codes.

#[cfg(feature = "sql")]
mod bucket;
pub mod commands;
pub mod diagnostic;
pub mod engine;
mod explore;
mod inputs;
pub mod log;
mod mcp;
pub mod memory;
mod metrics;
pub mod name_rules;
pub mod owner_rules;
pub mod print;
pub mod progress;
mod rule_file;
mod symbol_files;
