//! Hostile inputs for every reader, and for every file that heaplake reads back.
//!
//! A [`Target`](subject::Target) is a function of bytes. It runs in the calling process, with a small budget, in a
//! temporary folder, and panics where a property is violated: no panics in the engine, errors blame the input, one line
//! of cause and one of advice, no leftovers in the lake. The [`driver`] detects what a process cannot detect itself:
//! death, hanging, memory past the limit.
//!
//! Three things drive the targets: the mutation loop of this crate ([`worker`], [`driver`]), which needs only stable
//! Rust; `cargo fuzz` over `fuzz/coverage`, guided by coverage; and a short pass of the former in `make test`.

#![expect(clippy::unwrap_used, reason = "a fuzzer may fail loudly")]

mod analysis;
pub mod driver;
#[path = "../../tests/support/fast_folder.rs"]
mod fast_folder;
mod mutate;
mod seeds;
pub mod subject;
pub mod targets;
pub mod worker;
