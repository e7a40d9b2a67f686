//! Readers of snapshots: from a file of any format to neutral columns of nodes, edges and strings.
//!
//! `heaplake-input` reads and decompresses the bytes; one folder per format holds its rules: [`v8`], [`jvm`],
//! [`dotnet`]. Each implements [`Format`]. The stages after ingest do not depend on the format.

mod degrees;
mod dotnet;
mod format;
mod index;
mod jvm;
mod labels;
mod masking;
mod names;
mod origins;
mod output;
pub mod v8;
mod values;

pub use format::{Estimate, Format};

/// All formats. V8 comes last: it accepts every content that no other format recognises, and reports its errors.
pub const FORMATS: [&dyn Format; 3] = [&jvm::Jvm, &dotnet::Dotnet, &v8::V8];

/// Returns the format of a content from its first bytes.
pub fn of(beginning: &[u8]) -> &'static dyn Format {
    FORMATS.into_iter().find(|format| format.recognises(beginning)).unwrap_or(&v8::V8)
}
