//! `heaplake mcp`, driven as a client does: by JSON-RPC over pipes.
//!
//! `client` checks each answer against the schema that the server lists, and its size. `agent` is a scripted agent that
//! knows nothing of heaplake; `leaks` and `programs` score it on leaks whose culprit is known.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod agent;
mod client;
mod errors;
mod hostile;
mod leaks;
mod pages;
mod programs;
mod protocol;
mod tools;
