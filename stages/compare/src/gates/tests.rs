//! Gates from their text to their verdicts, on tables that are written as a comparison writes them.

mod comparison;
#[path = "../../../../tests/support/diff_tables.rs"]
mod diff_tables;
mod errors;
mod properties;
mod verdicts;
