//! Gates from their text to their verdicts, on tables that are written as a comparison writes them.

#![expect(clippy::unwrap_used, reason = "tests may fail loudly")]

mod comparison;
#[path = "../../../../tests/support/diff_tables.rs"]
mod diff_tables;
mod errors;
mod properties;
mod verdicts;
