//! The tables of a run: each stage is one file, each table one line of [`TABLES`].
//!
//! A stage gives each column of its table a [`Source`](heaplake_lake::source::Source), and the
//! [`Table`](heaplake_lake::table::Table) of the lake writes them into the folder of the run. The tables of a replay
//! have scratch rows whose fields are their columns. [`collapsed`] and [`pprof`] write the call trees of a replay for
//! other programs.
//!
//! [`summary`] and [`replay_summary`] write no table: they write the summary of the run for `run.json`. [`totals`]
//! computes sums over all nodes if no table of nodes is written. [`snapshot`] is not a stage, since it reports on all
//! stages.
//!
//! ```
//! let files: Vec<&str> = heaplake_publish::TABLES.iter().map(|table| table.file).collect();
//! assert!(files.contains(&"nodes.parquet") && files.contains(&"allocations.pb.gz"));
//! ```

pub mod allocation_callees;
pub mod allocation_callers;
pub mod allocation_functions;
pub mod allocation_types;
pub mod chains;
pub mod classes;
pub mod collapsed;
pub mod collections;
pub mod duplicate_members;
pub mod duplicate_sets;
pub mod edges;
pub mod findings;
pub mod kinds;
pub mod lifetime_sites;
pub mod moved_ranges;
pub mod nodes;
pub mod object_lifetimes;
pub mod object_tracks;
pub mod owners;
pub mod pprof;
pub mod replay_summary;
mod rows;
mod sets;
pub mod snapshot;
pub mod summary;
pub mod threads;
pub mod totals;
pub mod walk_objects;
mod writer;

#[cfg(test)]
mod properties;

use arrow::datatypes::SchemaRef;
use heaplake_kit::Stage;
use heaplake_schemas::table::TableSchema;

/// A table of a run, or an export beside the tables.
pub struct Table {
    /// Name, as on the command line.
    pub name: &'static str,
    /// File name inside a run.
    pub file: &'static str,
    /// Its schema; exports have none.
    pub schema: Option<fn() -> SchemaRef>,
    /// The stage that writes it.
    pub stage: &'static Stage,
}

impl Table {
    const fn of(table: &TableSchema, schema: fn() -> SchemaRef, stage: &'static Stage) -> Self {
        Self { name: table.name, file: table.file, schema: Some(schema), stage }
    }

    const fn export(name: &'static str, file: &'static str, stage: &'static Stage) -> Self {
        Self { name, file, schema: None, stage }
    }
}

/// File of the table `snapshot`, the only one without a stage; see [`snapshot::write`].
pub const SNAPSHOT_FILE: &str = heaplake_schemas::snapshot::FILE;

macro_rules! table {
    ($name:ident) => {
        Table::of(&heaplake_schemas::$name::TABLE, heaplake_schemas::$name::schema, &$name::STAGE)
    };
}

/// All tables, in the order in which `run.json` lists those that a run has. Replays and analyses share `findings`: the
/// tables of replays come before it, and some of those of analyses after it.
pub const TABLES: &[Table] = &[
    table!(allocation_types),
    table!(allocation_functions),
    table!(allocation_callers),
    table!(allocation_callees),
    table!(object_lifetimes),
    table!(lifetime_sites),
    table!(collections),
    table!(object_tracks),
    table!(moved_ranges),
    table!(walk_objects),
    Table::export("pprof", pprof::FILE, &pprof::STAGE),
    Table::export("collapsed", collapsed::FILE, &collapsed::STAGE),
    table!(nodes),
    table!(edges),
    table!(classes),
    table!(kinds),
    table!(chains),
    table!(threads),
    table!(findings),
    table!(owners),
    table!(duplicate_sets),
    table!(duplicate_members),
];
