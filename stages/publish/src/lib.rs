//! Tables for notebooks, and runs that are whole or absent.
//!
//! [`nodes`], [`edges`], [`classes`], [`chains`], [`threads`] and [`snapshot`] each write one Parquet table through [`table`], which takes its
//! columns from [`source`]s and writes [`row_group`]s with several threads, [`mod@text`] columns in a way of their own.
//! [`totals`] adds up what the table of nodes else adds up on the way. [`commit`] gives the tables a folder that appears in its place in one step.

pub mod allocation_callees;
pub mod allocation_callers;
pub mod allocation_functions;
pub mod allocation_types;
pub mod chains;
pub mod classes;
pub mod collapsed;
pub mod collections;
pub mod commit;
pub mod duplicate_members;
pub mod duplicate_sets;
pub mod edges;
pub mod findings;
pub mod lifetime_sites;
pub mod moved_ranges;
pub mod nodes;
pub mod object_lifetimes;
pub mod object_tracks;
pub mod owners;
pub mod pprof;
pub mod reader;
pub mod row_group;
pub mod rows;
pub mod snapshot;
pub mod source;
pub mod table;
pub mod text;
pub mod threads;
pub mod totals;
