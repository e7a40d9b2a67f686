//! A run, a comparison, a trend or a fleet as one HTML page: what an engineer looks at first, in a file that opens offline.
//!
//! This is a command on a finished run, not a stage: [`make`] reads the Parquet tables of a run only, so the page can
//! be made at any time and anywhere. If the run lacks data (a table that was not chosen, duplicates that were not
//! looked for), the page says so.
//!
//! [`tree`] folds the dominator tree into groups, [`calls`] the call trees of a replay; [`lifetimes`] what died on
//! which path; [`tables`] and [`allocations`] read the first rows of the other tables, [`alive`] the time line of
//! allocations, [`holders`] the trees of all holders, [`old_objects`] those of a recording, and the document puts all of it together. [`texts`] makes
//! names from the snapshot harmless and keeps them within a number of bytes; [`page`] puts the document into HTML.
//! [`comparison`], [`trend`] and [`mod@fleet`] do the same with comparisons, trends and rollups; the first two read their
//! tables through `subjects`.

pub mod alive;
pub mod allocations;
pub mod calls;
pub mod comparison;
mod document;
mod findings;
pub mod fleet;
pub mod holders;
pub mod lifetimes;
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
