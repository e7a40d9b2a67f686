//! Replay of traces of allocations and garbage collections.
//!
//! A reader of one [`format`](mod@format) ([`log`], [`nettrace`], [`heapprofile`], [`tracetree`], [`jfr`]) passes
//! [`events`] to [`replay`], which keeps [`types`], [`stacks`] and [`symbols`] (with [`index_table`]s), takes a sample
//! ([`sampling`], [`sample`], [`posterior`], [`binomial`]; or [`weights`]), follows objects through collections
//! ([`collecting`], [`collection`], [`track`], [`sweep`], [`places`], [`tracks`], [`promotions`], [`reports`]) and
//! counts their [`lifetimes`]. At the end [`tree`] merges all stacks into a call tree ([`calls`]), and [`output`]
//! writes rows: those of [`functions`], [`callers`] (as a [`reverse_graph`]), [`sites`] and [`paths`], [`ordered`] in
//! memory or on disk. [`symbolize`] adds names and lines from assemblies, PDBs and source maps. [`replay_trace`] is the
//! stage.

pub mod binomial;
pub mod callers;
pub mod calls;
pub mod collecting;
pub mod collection;
pub mod events;
pub mod format;
pub mod functions;
pub mod heapprofile;
pub mod index_table;
pub mod jfr;
pub mod lifetimes;
pub mod log;
pub mod nettrace;
pub mod ordered;
pub mod output;
pub mod paths;
pub mod places;
pub mod posterior;
pub mod promotions;
pub mod replay;
pub mod replay_trace;
pub mod reports;
pub mod reverse_graph;
pub mod sample;
pub mod sampling;
pub mod sites;
pub mod stacks;
pub mod sweep;
pub mod symbolize;
pub mod symbols;
pub mod tracetree;
pub mod track;
pub mod tracks;
pub mod tree;
pub mod types;
pub mod weights;
