//! Work on a lake as a whole: which runs it has ([`list`]), whether they are what was written ([`verify`]), which of them
//! go ([`mod@drop`]), and runs of other lakes that come in ([`merge`]). A library without stages; it knows `run.json` and the
//! files of runs, and nothing of what is in the tables.
//!
//! Whatever changes a lake holds the [place](heaplake_lake::place) of the run, as who makes a run does: a run that is
//! being made is never touched, and a killed command leaves the run or what the next one removes.

pub mod check;
pub mod choice;
mod content;
pub mod drop;
pub mod keep;
pub mod list;
pub mod merge;
pub use heaplake_lake::moment;
pub mod verify;
