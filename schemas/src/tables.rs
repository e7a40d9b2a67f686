//! All tables.
//!
//! ```
//! use heaplake_schemas::tables;
//!
//! let nodes = tables::ALL.iter().find(|table| table.name == "nodes").unwrap();
//! assert_eq!(nodes.file, "nodes.parquet");
//! // After the release and the name of the run:
//! assert_eq!(nodes.schema().field(2).name(), nodes.columns[0].name);
//! ```

use crate::table::TableSchema;
use crate::{diff, rollup, trend};

/// All tables, in the order of the documentation: snapshots, findings, traces, comparisons, trends and rollups.
pub const ALL: &[TableSchema] = &[
    crate::snapshot::TABLE,
    crate::nodes::TABLE,
    crate::edges::TABLE,
    crate::classes::TABLE,
    crate::kinds::TABLE,
    crate::chains::TABLE,
    crate::retainer_trees::TABLE,
    crate::owners::TABLE,
    crate::duplicate_sets::TABLE,
    crate::duplicate_members::TABLE,
    crate::duplicate_additional::TABLE,
    crate::possible_duplicates::TABLE,
    crate::values::TABLE,
    crate::threads::TABLE,
    crate::scripts::TABLE,
    crate::live_allocations::TABLE,
    crate::samples::TABLE,
    crate::findings::TABLE,
    crate::allocation_types::TABLE,
    crate::allocation_functions::TABLE,
    crate::allocation_callees::TABLE,
    crate::allocation_callers::TABLE,
    crate::object_lifetimes::TABLE,
    crate::lifetime_sites::TABLE,
    crate::lifetime_paths::TABLE,
    crate::collections::TABLE,
    crate::old_objects::TABLE,
    crate::old_object_chains::TABLE,
    crate::object_counts::TABLE,
    crate::recorded_events::TABLE,
    crate::object_tracks::TABLE,
    crate::moved_ranges::TABLE,
    crate::walk_objects::TABLE,
    crate::object_generations::TABLE,
    crate::generation_bounds::TABLE,
    crate::collection_roots::TABLE,
    diff::CLASSES.table,
    diff::CHAINS.table,
    diff::OWNERS.table,
    diff::DUPLICATE_SETS.table,
    diff::FINDINGS.table,
    diff::ALLOCATION_TYPES.table,
    diff::ALLOCATION_FUNCTIONS.table,
    diff::LIFETIMES.table,
    crate::diff_object_classes::TABLE,
    crate::diff_objects::TABLE,
    crate::diff_leak_candidates::TABLE,
    trend::CLASSES.table,
    trend::CHAINS.table,
    trend::OWNERS.table,
    trend::DUPLICATE_SETS.table,
    trend::FINDINGS.table,
    trend::ALLOCATION_TYPES.table,
    trend::ALLOCATION_FUNCTIONS.table,
    trend::LIFETIMES.table,
    rollup::CLASSES.table,
    rollup::CHAINS.table,
    rollup::OWNERS.table,
    rollup::DUPLICATE_SETS.table,
    rollup::FINDINGS.table,
    rollup::ALLOCATION_TYPES.table,
    rollup::ALLOCATION_FUNCTIONS.table,
    rollup::LIFETIMES.table,
];
