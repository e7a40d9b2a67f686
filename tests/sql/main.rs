//! `heaplake sql`: all runs of a lake as one database.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod answers;
mod attached;
mod coming_from;
mod compared;
mod dialect;
mod filters;
mod formats;
mod hostile;
mod limits;
mod named;
mod old_lakes;
mod packed;
mod shared;
