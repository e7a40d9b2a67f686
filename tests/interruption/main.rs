//! Interrupted, killed and resumed runs, in their own binary because of their time limits.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod resume;
mod signals;
