//! The catalogue of a lake: a copy of what the descriptions of its runs say, for readers of many runs.
//!
//! ```text
//! LAKE/catalogue/segment-<runs>-<hash>/catalogue_runs.parquet
//!                                      catalogue_tables.parquet
//! ```
//!
//! * Truth: the folders of runs and their `run.json`. A row of the catalogue counts only as long as `run.json` has the
//!   version (length and time of change, in a store the tag) that the row names; a run without such a row is read from
//!   its description. So a lake needs no catalogue, and a stale, partial or lost one costs time only.
//! * Writers: a command that adds runs appends a segment ([`add`]). Segments are never changed. Sixteen segments of
//!   about the same size are merged into one, by one process at a time.
//! * Cost of a list of n runs: two `stat` per run, one pass over the segments; half a kilobyte of memory per run.
//! * Kills: a segment appears by renaming its folder. A kill while segments are merged leaves rows twice, which the
//!   next merge of these removes.

mod columns;
mod read;
mod segment;
mod write;

pub use read::Wanted;
pub(crate) use read::{Catalogue, has};
pub use write::{Indexed, add, index, sweep};
