//! `heaplake mcp`, driven as a client does: by JSON-RPC over pipes; and `heaplake explore`, whose page asks the same
//! questions over HTTP.
//!
//! `client` checks each answer against the schema that the server lists, and its size. `agent` is a scripted agent that
//! knows nothing of heaplake; `leaks` and `programs` score it on leaks whose culprit is known.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod agent;
mod browser;
mod client;
mod errors;
mod explore;
mod explore_guard;
mod hostile;
mod leaks;
mod pages;
mod programs;
mod protocol;
mod tools;
