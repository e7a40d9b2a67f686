//! Ranked subjects of a table, for diff and trend.
//!
//! [`table::Ranked`] computes a row for each subject from the rows of all runs, keeps the rows in a scratch file, and
//! ranks them. [`mod@write`] writes the subjects of one or more formats in the order of their ranks, growth folded by
//! [`parts`].

pub(crate) mod parts;
pub(crate) mod row;
pub(crate) mod table;
pub(crate) mod write;
