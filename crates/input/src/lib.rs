//! Input bytes: a library for the stages that read inputs, without stages of its own.
//!
//! | module | provides |
//! |---|---|
//! | [`source`] | the content of a file or of standard input in blocks, decompressed; the identity of the bytes read |
//! | [`blocked`] | gzip in independent blocks, inflated on several threads |
//! | [`expansion`] | limits on decompression |
//! | [`bytes`](mod@bytes) | a content in pieces of any length, for binary formats and for lines |
//! | [`json`] | a content as JSON, token by token, without a tree |
//! | [`arrays`], [`chunks`], [`numbers`] | JSON arrays of numbers, in rows, on several threads |
//! | [`kind`] | the kind of a file given to the wrong command, or that none reads |
//! | [`nettrace`] | the container of `.nettrace` files |
//! | [`profiler_log`] | the lines of profiler logs |
//!
//! The callers interpret the bytes. Every error names the input, the offset in its decompressed content, the expected
//! and the actual content.

mod arrays;
mod blocked;
pub mod bytes;
pub mod chunks;
mod content;
mod decoded;
mod direct;
mod expansion;
mod frames;
mod gzip;
pub mod json;
pub mod kind;
mod magic;
pub mod nettrace;
pub mod numbers;
pub mod profiler_log;
pub mod source;
mod stored;
