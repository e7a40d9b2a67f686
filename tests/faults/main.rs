//! System faults, kills, and concurrent processes on the same lake.
//!
//! The binary is built with the feature `faults` of heaplake-kit here: the variable `HEAPLAKE_FAULT` makes any system
//! call fail, or the process end.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod changes;
mod common;
mod injected;
mod kills;
mod leftovers;
mod pipes;
mod questions;
mod scratch;
mod writers;
