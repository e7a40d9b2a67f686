//! A run, a comparison, a trend or a fleet as one HTML page for a first look, in a file that opens offline.
//!
//! This is a command on a finished run, not a stage: [`make`] reads only the Parquet tables of a run, so the page can
//! be made at any time and anywhere. If the run lacks data (tables or duplicates that were not requested), the page
//! says so.
//!
//! [`tree`] folds the dominator tree into groups, and [`calls`] the call trees of a replay; [`lifetimes`] reads deaths
//! by allocation path; [`tables`] and [`allocations`] read the first rows of the other tables, [`alive`] the time line
//! of allocations, [`holders`] the holder trees, [`old_objects`] those of a recording; the document combines them.
//! [`texts`] escapes and bounds names from the snapshot; [`page`] embeds the document in HTML. [`comparison`],
//! [`trend`] and [`mod@fleet`] do the same for comparisons, trends and rollups; the first two read their tables through
//! `subjects`, and all three have `contents` in common.

pub mod alive;
pub mod allocations;
pub mod calls;
pub mod comparison;
mod contents;
mod document;
mod findings;
pub mod fleet;
pub mod holders;
pub mod lifetimes;
mod nights;
pub mod old_objects;
pub mod page;
mod report;
mod sides;
mod subjects;
pub mod tables;
pub mod texts;
pub mod tree;
pub mod trend;

pub use comparison::write as diff_page;
pub use fleet::write as fleet_page;
pub use report::{FILE, LEAST_MEMORY, make};
pub use trend::write as trend_page;
