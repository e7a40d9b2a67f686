//! The command line as a user sees it: inputs, output streams, and the resulting lake.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod common;
mod gates;
mod inputs;
mod many;
mod operations;
mod output;
mod outputs;
mod questions;
mod redact;
mod replaced;
mod report;
mod runs;
mod schemas;
mod secrets;
mod shown;
mod templates;
mod terminal;
mod texts;
