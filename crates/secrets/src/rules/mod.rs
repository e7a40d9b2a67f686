//! Rules: the looks of secrets.
//!
//! A rule of a text is a regular expression over texts of the heap. A rule of a field is one over names of fields,
//! properties and keys of maps, whose values are then secrets. The format of files is that of gitleaks, with three keys
//! of our own: `severity`, `check` and `field` ([`mod@parse`]).

mod allow;
mod builtin;
mod check;
mod compile;
mod entropy;
mod parse;
mod rule;
mod values;

pub use allow::{Allowlist, Target};
pub use builtin::builtin;
pub use check::Check;
pub use parse::parse;
pub use rule::{Rule, Rules};
pub use values::Wrong;

pub(crate) use allow::Matched;
pub(crate) use entropy::entropy;
