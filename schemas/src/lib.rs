//! The schemas of everything that heaplake writes.
//!
//! One file is one table: its columns with units, nullability and sort order, as an Arrow schema. [`scratch`] names the
//! columns that the stages of a run write and read on disk. [`ids`] has the id spaces as newtypes, so that ordinals of
//! two spaces cannot be mixed. This crate depends on no other crate of heaplake and computes nothing.

pub mod allocation_callees;
pub mod allocation_callers;
pub mod allocation_functions;
pub mod allocation_types;
mod big_classes;
pub mod catalogue;
pub mod chains;
pub mod classes;
pub mod collection_roots;
pub mod collections;
pub mod column;
pub mod comparison;
pub mod containers;
pub mod diff;
pub mod diff_leak_candidates;
pub mod diff_object_classes;
pub mod diff_objects;
pub mod direct_buffers;
pub mod duplicate_additional;
pub mod duplicate_members;
pub mod duplicate_sets;
pub mod edges;
pub mod findings;
pub mod generation_bounds;
pub mod ids;
pub mod kinds;
pub mod lifetime_paths;
pub mod lifetime_sites;
pub mod limits;
pub mod listing;
pub mod live_allocations;
pub mod moved_ranges;
pub mod names;
pub mod nodes;
pub mod object_counts;
pub mod object_generations;
pub mod object_lifetimes;
pub mod object_tracks;
pub mod old_object_chains;
pub mod old_objects;
pub mod options;
pub mod owners;
pub mod possible_duplicates;
pub mod recorded_events;
pub mod replay;
pub mod resources;
pub mod retainer_trees;
pub mod roles;
pub mod rollup;
mod rollup_tables;
pub mod row;
pub mod run;
pub mod samples;
pub mod scratch;
mod scratch_column;
pub mod scripts;
pub mod series;
pub mod snapshot;
pub mod symbols;
pub mod table;
pub mod tables;
pub mod texts;
pub mod threads;
pub mod trend;
pub mod values;
pub mod walk_objects;

/// Version of the public tables. Adding a column keeps it; renaming or retyping one raises it.
pub const SCHEMA_VERSION: u32 = 4;

/// Version of heaplake itself, written into every table's key-value metadata.
pub const HEAPLAKE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Keys of the metadata that every Parquet file carries.
pub mod metadata {
    /// [`HEAPLAKE_VERSION`](crate::HEAPLAKE_VERSION).
    pub const VERSION: &str = "heaplake.version";
    /// [`SCHEMA_VERSION`](crate::SCHEMA_VERSION).
    pub const SCHEMA: &str = "heaplake.schema_version";
    /// Hash of the analysed input, as in the `snapshot` table.
    pub const INPUT_HASH: &str = "heaplake.input_hash";
    /// In the tables of a compacted lake: the runs of the rows, and the types of unsigned columns, as JSON.
    pub const RUNS: &str = "heaplake.runs";
}
