//! Hostile inputs for every reader, and for every file that heaplake reads back.
//!
//! A [`Target`](subject::Target) is a function of bytes. It runs in the process that calls it, with a small budget, in a temporary folder,
//! and panics where a property does not hold: no panic anywhere, errors that are those of the input, one line of cause
//! and one of advice, nothing left in the lake. What a process cannot see of itself (death, hanging, memory past the
//! limit) its [`driver`] sees.
//!
//! Three things drive the targets: the mutation loop of this crate ([`worker`], [`driver`]), which needs nothing but
//! stable Rust; `cargo fuzz` over `fuzz/coverage`, which is guided by coverage; and a short pass of the former in
//! `make test`.

#![expect(clippy::unwrap_used, reason = "a fuzzer may fail loudly")]

pub mod analysis;
pub mod driver;
#[path = "../../tests/support/fast_folder.rs"]
mod fast_folder;
pub mod mutate;
pub mod seeds;
pub mod subject;
pub mod targets;
pub mod worker;
