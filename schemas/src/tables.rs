//! All tables, and the names of those that a user can choose.
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
use crate::{diff, rollup_tables as rollup, trend};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// All tables, in the order of the documentation: snapshots, findings, traces, comparisons, trends,
/// rollups and the catalogue.
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
    crate::catalogue::RUNS,
    crate::catalogue::TABLES,
];

/// Defines an enum of table names: a line per table.
macro_rules! names {
    (
        $(#[$meta:meta])*
        $choice:ident {
            $(#[$first_meta:meta])* $first:ident = $first_name:literal,
            $($(#[$rest_meta:meta])* $rest:ident = $rest_name:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub enum $choice {
            $(#[$first_meta])* #[serde(rename = $first_name)] $first,
            $($(#[$rest_meta])* #[serde(rename = $rest_name)] $rest,)*
        }

        impl $choice {
            /// All tables.
            pub const ALL: [Self; 1 + [$($rest_name),*].len()] = [Self::$first, $(Self::$rest),*];

            /// All names, for help texts.
            pub const NAMES: &str = concat!($first_name $(, ", ", $rest_name)*);

            /// Name, as on the command line and of the file.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    Self::$first => $first_name,
                    $(Self::$rest => $rest_name,)*
                }
            }
        }
    };
}

names! {
    /// Tables of an analysis that can be chosen.
    TableName {
        /// Every node.
        Nodes = "nodes",
        /// Every edge.
        Edges = "edges",
        /// The classes.
        Classes = "classes",
        /// The kinds of nodes.
        Kinds = "kinds",
        /// The chains that lead to instances of big classes.
        Chains = "chains",
        /// All holders of instances of big classes.
        RetainerTrees = "retainer_trees",
        /// The sets of duplicates, if searched.
        DuplicateSets = "duplicate_sets",
        /// Their members.
        DuplicateMembers = "duplicate_members",
        /// The values that nodes contain.
        Values = "values",
        /// The findings.
        Findings = "findings",
        /// The owners of the memory.
        Owners = "owners",
        /// The threads, in formats that have them.
        Threads = "threads",
        /// The scripts of source locations, in formats that have them.
        Scripts = "scripts",
        /// Classes of objects allocated on known stacks, in snapshots with allocation tracking.
        AllocationTypes = "allocation_types",
        /// Allocating functions, likewise.
        AllocationFunctions = "allocation_functions",
        /// Their call tree.
        AllocationCallees = "allocation_callees",
        /// Live objects by class, stack and time.
        LiveAllocations = "live_allocations",
        /// The time line.
        Samples = "samples",
        /// The run itself.
        Snapshot = "snapshot",
    }
}

names! {
    /// Tables of a replay that can be chosen.
    TraceTable {
        /// Allocations by type.
        AllocationTypes = "allocation_types",
        /// Allocations by function.
        AllocationFunctions = "allocation_functions",
        /// The reverse call graph of each type.
        AllocationCallers = "allocation_callers",
        /// The call tree.
        AllocationCallees = "allocation_callees",
        /// Lifetimes of objects by type.
        ObjectLifetimes = "object_lifetimes",
        /// Lifetimes by allocating function.
        LifetimeSites = "lifetime_sites",
        /// Lifetimes by call path.
        LifetimePaths = "lifetime_paths",
        /// The collections.
        Collections = "collections",
        /// The findings.
        Findings = "findings",
        /// The old objects that a recording of Java sampled.
        OldObjects = "old_objects",
        /// The chains that hold them.
        OldObjectChains = "old_object_chains",
        /// Counts of live objects in a recording of Java.
        ObjectCounts = "object_counts",
        /// The events of a recording of Java, by kind.
        RecordedEvents = "recorded_events",
        /// The addresses of each object, from its allocation to its death.
        ObjectTracks = "object_tracks",
        /// The ranges that collections moved.
        MovedRanges = "moved_ranges",
        /// The objects of each walk of the heap.
        WalkObjects = "walk_objects",
        /// The generations of each object.
        ObjectGenerations = "object_generations",
        /// The ranges of each generation.
        GenerationBounds = "generation_bounds",
        /// Roots of objects at each collection.
        CollectionRoots = "collection_roots",
    }
}

impl TraceTable {
    /// The tables of single objects and ranges, as long as the trace.
    pub const TRACKS: [Self; 6] = [
        Self::ObjectTracks,
        Self::MovedRanges,
        Self::WalkObjects,
        Self::ObjectGenerations,
        Self::GenerationBounds,
        Self::CollectionRoots,
    ];

    /// All tables but [`Self::TRACKS`].
    pub fn most() -> BTreeSet<Self> {
        Self::ALL.into_iter().filter(|table| !Self::TRACKS.contains(table)).collect()
    }
}
