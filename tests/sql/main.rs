//! `heaplake sql`: all runs of a lake as one database.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

#[path = "../support/cgroup.rs"]
mod cgroup;
#[expect(dead_code, reason = "files are named to the binary")]
#[path = "../support/fixtures.rs"]
mod fixtures;
#[expect(dead_code, reason = "inputs are fixtures, and nothing is left by reading")]
#[path = "../support/lake.rs"]
mod lake;
#[expect(dead_code, reason = "few columns are read beside the engine")]
#[path = "../support/table.rs"]
mod table;

mod answers;
mod compared;
mod formats;
mod hostile;
mod limits;
mod named;
mod old_lakes;
mod shared;
