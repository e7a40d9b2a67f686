//! Commands over a lake as a whole: ls, verify, drop, label, merge.
//!
//! The binary is built with the feature `faults` of heaplake-kit here: the variable `HEAPLAKE_FAULT` makes any system
//! call fail, or the process end.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod catalogue;
mod changed;
mod churn;
mod common;
mod compact;
mod documents;
mod drop;
mod kept;
mod kills;
mod label;
mod list;
mod merge;
mod missing;
mod verify;
