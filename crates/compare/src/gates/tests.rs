//! Tests gates from text to verdict, on tables written as a comparison writes them.

mod comparison;
#[path = "../../../../tests/support/diff_tables.rs"]
mod diff_tables;
mod errors;
mod properties;
mod verdicts;
