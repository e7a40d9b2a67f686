//! Generated snapshots as files, and their planted answers against plain analyses.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod analysis;
mod duplicates;
mod file;
mod read_back;
