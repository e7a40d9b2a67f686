//! A snapshot's format in, neutral node, edge and string columns out.
//!
//! [`source`] brings the bytes (plain, gzip, zstd, standard input) in blocks, [`json`] and [`numbers`] take them apart,
//! and each format has one folder that knows its rules: [`v8`]. After ingest nothing knows which format it serves.

pub mod json;
pub mod numbers;
pub mod source;
pub mod v8;
