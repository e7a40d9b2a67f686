//! Replay of traces of allocations and garbage collections.
//!
//! A reader of one [`format`](mod@format) ([`log`], [`nettrace`], [`heapprofile`], [`tracetree`], [`jfr`], [`eventlog`]
//! with [`recorded`]) passes [`events`] to [`replay`], which keeps [`types`], [`stacks`] and [`symbols`] (with [`index_table`]s), takes a sample
//! ([`sampling`], [`sample`], [`posterior`], [`binomial`]; or [`weights`]), follows objects through collections
//! ([`collecting`], [`collection`], [`track`], [`sweep`], [`intervals`], [`tracks`], [`promotions`], [`reports`]) and
//! counts their [`lifetimes`]. At the end [`tree`] merges all stacks into a call tree ([`calls`]), and [`output`]
//! writes rows: those of [`functions`], [`callers`], [`sites`] and [`paths`], [`ordered`] in memory or on disk.
//! [`symbolize`] adds names and lines from assemblies, PDBs and source maps. [`replay_trace`] is the stage.

mod binomial;
mod callers;
mod calls;
mod collecting;
mod collection;
mod eventlog;
mod events;
pub mod format;
mod functions;
mod heapprofile;
mod index_table;
mod intervals;
mod jfr;
mod lifetimes;
pub mod log;
mod nettrace;
mod ordered;
mod output;
mod paths;
pub mod posterior;
mod promotions;
mod recorded;
pub mod replay;
pub mod replay_trace;
mod reports;
pub mod sample;
pub mod sampling;
mod sites;
mod stacks;
mod sweep;
mod symbolize;
mod symbols;
mod tracetree;
pub mod track;
mod tracks;
mod tree;
pub mod types;
mod weights;
