//! Interrupted, killed and resumed runs, in their own binary because of their time limits.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

#[path = "../support/fixtures.rs"]
mod fixtures;
#[path = "../support/generated.rs"]
mod generated;
#[path = "../support/journal.rs"]
mod journal;
#[path = "../support/lake.rs"]
mod lake;
#[path = "../support/planted.rs"]
mod planted;
#[expect(dead_code, reason = "nothing here stops itself")]
#[path = "../support/processes.rs"]
mod processes;
#[expect(dead_code, reason = "`planted` reads columns of numbers and texts only")]
#[path = "../support/table.rs"]
mod table;

mod resume;
mod signals;
