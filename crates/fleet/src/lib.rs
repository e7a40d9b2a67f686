//! Operations on a whole lake: listing runs ([`list`]), verifying them ([`verify`]), dropping them ([`mod@drop`]), and
//! merging runs of other lakes ([`merge`]). A library without stages: it reads `run.json` and handles files of runs,
//! but not the contents of tables.
//!
//! Every change to a lake locks the [place](heaplake_lake::place) of the run, as the making of a run does: a run in the
//! making is never touched, and a killed command leaves either the run or leftovers that the next command removes.

mod check;
pub mod choice;
mod content;
pub mod drop;
pub mod keep;
pub mod list;
pub mod merge;
pub use heaplake_lake::moment;
pub mod verify;
