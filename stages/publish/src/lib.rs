//! The tables of a run: each stage is one file, each table one line of [`TABLES`].
//!
//! A table with a scratch row is declared by the row's struct; one generic stage writes all of them. Other stages give
//! each column a [`Source`](heaplake_lake::source::Source). [`Table`](heaplake_lake::table::Table) writes both into the
//! run's folder. [`collapsed`] and [`pprof`] write the call trees of a replay for other programs.
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
mod allocation_functions;
mod allocation_types;
mod chains;
mod classes;
mod collapsed;
mod collections;
mod deep_stacks;
mod duplicate_additional;
mod duplicate_members;
mod duplicate_sets;
mod edges;
mod findings;
pub mod function_signatures;
mod kinds;
mod live_allocations;
mod located;
mod nodes;
mod object_lifetimes;
mod originals;
mod owned;
mod owners;
mod possible_duplicates;
mod pprof;
pub mod replay_summary;
mod retainer_trees;
mod rows;
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
        Table { file: heaplake_schemas::$name::TABLE.file, stage: &$name::STAGE }
    };
}

/// The table with the rows of a scratch column: [`heaplake_schemas::row`] declares its columns.
macro_rules! rows {
    ($module:ident::$row:ident $(, version $version:literal)?) => {
        Table {
            file: heaplake_schemas::$module::TABLE.file,
            stage: &Stage { $(version: $version,)? ..rows::stage::<heaplake_schemas::$module::$row>() },
        }
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
    rows!(allocation_callers::CallerRow),
    table!(allocation_callees),
    table!(object_lifetimes),
    rows!(lifetime_sites::SiteRow),
    rows!(lifetime_paths::PathRow),
    table!(collections),
    rows!(old_objects::OldObjectRow),
    rows!(old_object_chains::OldObjectChainRow),
    rows!(object_counts::ObjectCountRow),
    rows!(recorded_events::RecordedEventRow),
    rows!(object_tracks::TrackRow, version 2),
    rows!(moved_ranges::MoveRow),
    rows!(walk_objects::WalkRow),
    rows!(object_generations::GenerationRow),
    rows!(generation_bounds::BoundRow),
    rows!(collection_roots::RootRow),
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
    rows!(samples::SampleRow),
    table!(findings),
    table!(owners),
    table!(duplicate_sets),
    table!(duplicate_members),
    table!(duplicate_additional),
    table!(possible_duplicates),
    table!(values),
];
