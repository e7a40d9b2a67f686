//! `heaplake fleet`: aggregates over all runs of a lake.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod chosen;
mod clusters;
mod handed_on;
mod incremental;
mod killed;
mod missed;
mod nights;
mod page;
mod shared;
mod sums;
