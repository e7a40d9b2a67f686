//! A snapshot's format in, neutral node, edge and string columns out.
//!
//! [`source`] brings the bytes (plain, gzip, zstd, standard input) in blocks, [`json`] takes them apart,
//! [`arrays`], [`chunks`] and [`numbers`] do so with arrays of numbers, on as many threads as there are, and each format
//! has one folder that knows its rules: [`v8`]. After ingest nothing knows which format it serves.

pub mod arrays;
pub mod chunks;
pub mod json;
pub mod jvm;
pub mod numbers;
pub mod source;
pub mod v8;
