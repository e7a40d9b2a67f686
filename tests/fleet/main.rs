//! `heaplake fleet`: aggregates over all runs of a lake.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

#[expect(dead_code, reason = "nothing is left by reading")]
#[path = "../support/lake.rs"]
mod lake;
#[path = "../support/leaky.rs"]
mod leaky;
#[expect(dead_code, reason = "columns of texts and numbers only")]
#[path = "../support/table.rs"]
mod table;
#[path = "../support/written.rs"]
mod written;

mod clusters;
mod handed_on;
mod incremental;
mod killed;
mod missed;
mod page;
mod shared;
mod sums;
