//! Java heap dumps: correct answers, and damaged or unusual dumps.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

#[path = "../support/cases.rs"]
mod cases;
#[path = "../support/chain_paths.rs"]
mod chain_paths;
#[path = "../support/chain_sums.rs"]
mod chain_sums;
#[path = "../support/compress.rs"]
mod compress;
#[path = "../support/fixtures.rs"]
mod fixtures;
#[path = "../support/in_process.rs"]
mod in_process;
#[path = "../support/lake.rs"]
mod lake;
#[path = "../support/owner_sums.rs"]
mod owner_sums;
#[expect(dead_code, reason = "no column of bytes is read")]
#[path = "../support/table.rs"]
mod table;

mod check;
mod command_line;
mod damage;
mod dumps;
mod golden;
mod headers;
mod huge;
mod judged;
mod properties;
mod records;
mod structure;
mod written_otherwise;
