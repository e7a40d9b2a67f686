//! Secrets in the strings of a heap: tokens, keys, passwords, private keys, mails, numbers of cards.
//!
//! | module | provides |
//! |---|---|
//! | [`rules`] | rules, in the format of gitleaks, and those that heaplake brings |
//! | [`matching`], `window` | rules applied to texts of any length |
//! | [`hits`] | secrets without their texts |
//! | [`v8`], [`java`] | the texts of a file |
//! | [`tables`], [`pieces`] | the texts of a run, fields whose names tell, strings of several pieces |
//! | [`report`], [`sarif`] | the answer |
//!
//! No value that leaves this crate has a secret in it, nor a digest of one. Names of fields and classes are masked where
//! a rule matches them.

pub mod hits;
pub mod java;
pub mod matching;
pub mod pieces;
mod recent;
pub mod report;
pub mod rules;
pub mod sarif;
pub mod tables;
pub mod v8;
mod window;

pub use hits::{Hit, Hits, Tagger};
pub use matching::Matcher;
pub use rules::Rules;
