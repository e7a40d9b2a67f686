//! Names of the tables that a user can choose.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Names of tables: a line a table.
macro_rules! names {
    (
        $(#[$meta:meta])*
        $choice:ident {
            $(#[$first_meta:meta])* $first:ident = $first_name:literal,
            $($(#[$rest_meta:meta])* $rest:ident = $rest_name:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $choice {
            $(#[$first_meta])* #[serde(rename = $first_name)] $first,
            $($(#[$rest_meta])* #[serde(rename = $rest_name)] $rest,)*
        }

        impl $choice {
            /// All of them.
            pub const ALL: [Self; 1 + [$($rest_name),*].len()] = [Self::$first, $(Self::$rest),*];

            /// All names, for people.
            pub const NAMES: &str = concat!($first_name $(, ", ", $rest_name)*);

            /// Name, as on the command line and that of the file.
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
        /// All that holds instances of big classes.
        RetainerTrees = "retainer_trees",
        /// The sets of duplicates, where those are looked for.
        DuplicateSets = "duplicate_sets",
        /// Their members.
        DuplicateMembers = "duplicate_members",
        /// What nodes contain.
        Values = "values",
        /// The findings.
        Findings = "findings",
        /// The owners of the memory.
        Owners = "owners",
        /// The threads, of formats that have some.
        Threads = "threads",
        /// The scripts that source locations name, of formats that have some.
        Scripts = "scripts",
        /// The classes of the objects that were allocated on known stacks, of snapshots with allocation tracking.
        AllocationTypes = "allocation_types",
        /// The functions that allocated, likewise.
        AllocationFunctions = "allocation_functions",
        /// Their call tree.
        AllocationCallees = "allocation_callees",
        /// What is alive of it, by class, stack and time.
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
        /// What was allocated, by type.
        AllocationTypes = "allocation_types",
        /// By function.
        AllocationFunctions = "allocation_functions",
        /// The reverse call graph of each type.
        AllocationCallers = "allocation_callers",
        /// The call tree.
        AllocationCallees = "allocation_callees",
        /// How long objects live, by type.
        ObjectLifetimes = "object_lifetimes",
        /// The same by allocating function.
        LifetimeSites = "lifetime_sites",
        /// The same by path of calls.
        LifetimePaths = "lifetime_paths",
        /// The collections.
        Collections = "collections",
        /// The findings.
        Findings = "findings",
        /// The old objects that a recording of Java sampled.
        OldObjects = "old_objects",
        /// The chains that hold them.
        OldObjectChains = "old_object_chains",
        /// What a recording of Java counts of living objects.
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
        /// What holds objects at each collection.
        CollectionRoots = "collection_roots",
    }
}

impl TraceTable {
    /// The tables of single objects and ranges; they are as long as the trace.
    pub const TRACKS: [Self; 6] = [
        Self::ObjectTracks,
        Self::MovedRanges,
        Self::WalkObjects,
        Self::ObjectGenerations,
        Self::GenerationBounds,
        Self::CollectionRoots,
    ];

    /// All but those.
    #[must_use]
    pub fn most() -> BTreeSet<Self> {
        Self::ALL.into_iter().filter(|table| !Self::TRACKS.contains(table)).collect()
    }
}
