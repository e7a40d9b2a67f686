//! A snapshot's format in, neutral node, edge and string columns out.
//!
//! `heaplake-input` brings the bytes and takes them apart; each format has one folder that knows its rules: [`v8`],
//! [`jvm`], [`dotnet`]. Each implements [`Format`]. After ingest nothing knows which format it serves.

pub mod degrees;
pub mod dotnet;
pub mod format;
pub mod index;
pub mod jvm;
pub mod labels;
pub mod names;
pub mod output;
pub mod v8;

pub use format::{Estimate, Format};

/// All formats. V8 comes last: it takes what no other recognises, and says what is wrong with it.
pub const FORMATS: [&dyn Format; 3] = [&jvm::Jvm, &dotnet::Dotnet, &v8::V8];

/// The format of a content that begins so.
#[must_use]
pub fn of(beginning: &[u8]) -> &'static dyn Format {
    FORMATS.into_iter().find(|format| format.recognises(beginning)).unwrap_or(&v8::V8)
}
