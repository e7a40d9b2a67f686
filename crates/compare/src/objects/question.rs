//! Question and answer of an object comparison.

use heaplake_schemas::run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Snapshots to compare, as folders of their runs.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Older snapshot.
    pub base: &'a Path,
    /// Newer snapshot of the same process.
    pub target: &'a Path,
    /// Third, later snapshot, for leak candidates.
    pub last: Option<&'a Path>,
    /// .NET: replay of the trace that contains the walks, made with tracks.
    pub tracks: Option<&'a Path>,
    /// Whether ids are stable numbers, in formats that usually have addresses.
    pub stable_ids: bool,
    /// Whether to list objects that both snapshots have.
    pub kept: bool,
}

/// Answer. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Written tables.
    pub tables: Vec<run::Table>,
    /// Sums over all classes.
    pub total: Change,
    /// Classes that grew most by shallow size, at most [`MOST_CLASSES`].
    pub grown: Vec<ClassChange>,
    /// Leak candidates, if a third snapshot was given.
    pub candidates: Option<Candidates>,
    /// Caveats, one sentence each.
    pub remarks: Vec<String>,
}

/// Maximum number of classes in an answer.
pub const MOST_CLASSES: usize = 20;

/// Counts and shallow bytes of new, deleted and kept objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Objects only in the target.
    pub new_count: u64,
    /// Objects only in the base.
    pub deleted_count: u64,
    /// Objects in both.
    pub kept_count: u64,
    /// Bytes of new objects.
    pub new_bytes: u64,
    /// Bytes of deleted objects.
    pub deleted_bytes: u64,
    /// Bytes of kept objects in the target.
    pub kept_bytes: u64,
    /// Bytes of kept objects in the base.
    pub kept_base_bytes: u64,
}

impl Change {
    /// New minus deleted objects.
    pub fn delta_count(&self) -> i64 {
        less(self.new_count, self.deleted_count)
    }

    /// New minus deleted bytes.
    pub fn delta_bytes(&self) -> i64 {
        less(self.new_bytes, self.deleted_bytes)
    }

    /// Growth of kept objects in bytes.
    pub fn kept_delta_bytes(&self) -> i64 {
        less(self.kept_bytes, self.kept_base_bytes)
    }

    /// Whether no object is new or deleted.
    pub fn is_none(&self) -> bool {
        self.new_count == 0 && self.deleted_count == 0
    }
}

/// Saturating difference.
fn less(more: u64, less: u64) -> i64 {
    let difference = i128::from(more) - i128::from(less);
    difference.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// Change of a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClassChange {
    /// Class name.
    pub class: String,
    /// Class key.
    pub class_key: String,
    /// Counts and bytes.
    #[serde(flatten)]
    pub change: Change,
}

/// Summary of leak candidates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Candidates {
    /// Number of candidates.
    pub count: u64,
    /// Shallow bytes.
    pub shallow_bytes: u64,
    /// Retained bytes of heads: candidates with an immediate dominator that is no candidate.
    #[serde(default)]
    pub retained_bytes: u64,
    /// Groups by class, largest retained size first, at most [`MOST_CLASSES`].
    pub groups: Vec<CandidateGroup>,
}

/// Candidates of one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateGroup {
    /// Class name.
    pub class: String,
    /// Class key.
    pub class_key: String,
    /// The chain from a root with most bytes of the class, if known.
    pub chain: Option<String>,
    /// Number of candidates.
    pub count: u64,
    /// Shallow bytes.
    pub shallow_bytes: u64,
    /// Retained bytes of heads: candidates with an immediate dominator that is no candidate.
    #[serde(default)]
    pub retained_bytes: u64,
    /// Largest retained size of a candidate.
    pub max_retained_bytes: u64,
    /// Node with that size, in `nodes` of the third snapshot.
    pub example_node: u32,
}
