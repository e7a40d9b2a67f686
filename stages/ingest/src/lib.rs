//! Readers of snapshots: from a file of some format to columns of nodes, edges and strings that no format shows in.
//!
//! `heaplake-input` reads and decompresses the bytes. The rules of each format are in one folder: [`v8`], [`jvm`],
//! [`dotnet`]. Each implements [`Format`]. The stages after ingest do not depend on the format.

pub mod degrees;
pub mod dotnet;
pub mod format;
pub mod index;
pub mod jvm;
pub mod labels;
pub mod names;
pub mod output;
pub mod v8;
pub mod values;

pub use format::{Estimate, Format};

/// All formats. V8 comes last: it takes what no other recognises, and says what is wrong with it.
pub const FORMATS: [&dyn Format; 3] = [&jvm::Jvm, &dotnet::Dotnet, &v8::V8];

/// The format of a content that begins so.
#[must_use]
pub fn of(beginning: &[u8]) -> &'static dyn Format {
    FORMATS.into_iter().find(|format| format.recognises(beginning)).unwrap_or(&v8::V8)
}
