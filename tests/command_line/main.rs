//! The command line as a user sees it: inputs, output streams, and the resulting lake.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

#[path = "../support/compress.rs"]
mod compress;
#[path = "../support/fixtures.rs"]
mod fixtures;
#[path = "../support/generated.rs"]
mod generated;
#[path = "../support/lake.rs"]
mod lake;
#[expect(dead_code, reason = "few kinds of columns are read")]
#[path = "../support/table.rs"]
mod table;
#[path = "../support/written.rs"]
mod written;

mod common;
mod gates;
mod inputs;
mod many;
mod operations;
mod output;
mod outputs;
mod questions;
mod replaced;
mod report;
mod runs;
mod shown;
mod terminal;
