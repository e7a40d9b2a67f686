//! The tables of a run: each stage is one file, each table one line of [`TABLES`].
//!
//! A stage gives each column of its table a [`Source`](heaplake_lake::source::Source), and the
//! [`Table`](heaplake_lake::table::Table) of the lake writes them into the folder of the run. The tables of a replay
//! have scratch rows with one field per column. [`collapsed`] and [`pprof`] write the call trees of a replay for other
//! programs.
//!
//! [`summary`] and [`replay_summary`] write no table: they write the summary of the run for `run.json`. [`totals`]
//! computes sums over all nodes if no table of nodes is written. [`snapshot`] is not a stage, since it reports on all
//! stages.
//!
//! ```
//! let files: Vec<&str> = heaplake_publish::TABLES.iter().map(|table| table.file).collect();
//! assert!(files.contains(&"nodes.parquet") && files.contains(&"allocations.pb.gz"));
//! ```

mod allocation_callees;
mod allocation_callers;
mod allocation_functions;
mod allocation_types;
mod chains;
mod classes;
mod collapsed;
mod collection_roots;
mod collections;
mod deep_stacks;
mod duplicate_additional;
mod duplicate_members;
mod duplicate_sets;
mod edges;
mod findings;
pub mod function_signatures;
mod generation_bounds;
mod kinds;
mod lifetime_paths;
mod lifetime_sites;
mod live_allocations;
mod located;
mod moved_ranges;
mod nodes;
mod object_counts;
mod object_generations;
mod object_lifetimes;
mod object_tracks;
mod old_object_chains;
mod old_objects;
mod originals;
mod owners;
mod possible_duplicates;
mod pprof;
mod recorded_events;
pub mod replay_summary;
mod retainer_trees;
mod rows;
mod samples;
mod script_urls;
mod scripts;
mod sets;
mod signature_columns;
pub mod signatures;
pub mod snapshot;
pub mod summary;
mod threads;
pub mod totals;
pub mod trace_signatures;
mod values;
mod walk_objects;
mod writer;

#[cfg(test)]
mod properties;

use heaplake_kit::Stage;

/// A table of a run, or an export beside the tables.
pub struct Table {
    /// File name inside a run.
    pub file: &'static str,
    /// The stage that writes it.
    pub stage: &'static Stage,
}

/// The table with its schema and stage in modules of this name.
macro_rules! table {
    ($name:ident) => {
        Table { file: heaplake_schemas::$name::FILE, stage: &$name::STAGE }
    };
}

/// The export of the module of this name.
macro_rules! export {
    ($name:ident) => {
        Table { file: $name::FILE, stage: &$name::STAGE }
    };
}

/// All tables, in the order of `run.json`. Replays and analyses share `findings`: the tables of replays come before it,
/// and some of those of analyses after it.
pub const TABLES: &[Table] = &[
    table!(allocation_types),
    table!(allocation_functions),
    table!(allocation_callers),
    table!(allocation_callees),
    table!(object_lifetimes),
    table!(lifetime_sites),
    table!(lifetime_paths),
    table!(collections),
    table!(old_objects),
    table!(old_object_chains),
    table!(object_counts),
    table!(recorded_events),
    table!(object_tracks),
    table!(moved_ranges),
    table!(walk_objects),
    table!(object_generations),
    table!(generation_bounds),
    table!(collection_roots),
    export!(pprof),
    export!(collapsed),
    table!(nodes),
    table!(edges),
    table!(classes),
    table!(kinds),
    table!(chains),
    table!(retainer_trees),
    table!(threads),
    table!(scripts),
    table!(live_allocations),
    table!(samples),
    table!(findings),
    table!(owners),
    table!(duplicate_sets),
    table!(duplicate_members),
    table!(duplicate_additional),
    table!(possible_duplicates),
    table!(values),
];
