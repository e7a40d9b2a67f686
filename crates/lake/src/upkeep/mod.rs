//! Operations on a whole lake: listing runs ([`list`]), verifying them ([`verify`]), dropping them ([`mod@drop`]),
//! changing their labels ([`label`]), merging runs of other lakes ([`merge`]), and packing their small tables
//! ([`compact`]). They read `run.json` and handle files of runs, but compute nothing from tables.
//!
//! Every change to a lake locks the [place](crate::place) of the run, as the making of a run does: a run in the making
//! is never touched, and a killed command leaves either the run or leftovers that the next command removes.

mod check;
pub mod choice;
pub mod compact;
mod content;
pub mod drop;
pub mod keep;
pub mod label;
pub mod list;
pub mod merge;
mod pack_files;
mod packed;
pub mod prune;
mod relabelled;
mod states;
pub mod verify;
pub mod views;
