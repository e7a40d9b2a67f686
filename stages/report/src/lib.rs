//! A run as one HTML page: what an engineer looks at first, in a file that opens offline.
//!
//! The page is made from the Parquet tables of a run alone, so it can be made at any time and anywhere. What a run does
//! not have (a table that was not chosen, duplicates that were not looked for) the page says in words. [`tree`] folds the
//! dominator tree into groups, [`calls`] the call trees of a replay, one module reads each other table, [`texts`] makes names from the snapshot harmless and
//! keeps them within a number of bytes, [`page`] puts it all together.

pub mod allocations;
pub mod calls;
pub mod page;
pub mod read;
pub mod report;
pub mod tables;
pub mod texts;
pub mod tree;

pub use report::{STAGE, run};
