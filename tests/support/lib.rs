//! The set-up that all end-to-end tests share: the binary and a lake, fixtures, generated and written inputs, tables.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]
#![expect(clippy::new_without_default, missing_docs, reason = "only tests use it")]

pub mod canaries;
pub mod cases;
pub mod cgroup;
pub mod chain_paths;
pub mod chain_sums;
pub mod compress;
mod fast_folder;
pub mod fixtures;
pub mod generated;
pub mod in_process;
pub mod journal;
pub mod json_schema;
pub mod lake;
pub mod leaky;
pub mod npm;
pub mod owner_sums;
pub mod planted;
pub mod processes;
pub mod replay;
pub mod secret_corpus;
pub mod sensitive;
pub mod table;
pub mod written;
