//! Hostile inputs and environments: damaged and unusual snapshots, full disks, small budgets.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod bombs;
mod compressed;
mod cut_off;
mod good;
mod meaning;
mod mutations;
mod refusal;
mod resources;
mod salvage;
mod syntax;
mod tables;
mod unusual;
mod written_otherwise;
mod wrong_kinds;
