//! Hostile inputs and environments: damaged and unusual snapshots, full disks, small budgets.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

#[path = "../support/compress.rs"]
mod compress;
#[path = "../support/generated.rs"]
mod generated;
#[path = "../support/in_process.rs"]
mod in_process;
#[path = "../support/lake.rs"]
mod lake;
#[expect(dead_code, reason = "few kinds of columns are read")]
#[path = "../support/table.rs"]
mod table;

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
