//! What is asked of two snapshots, and the answer in brief.

use heaplake_schemas::run;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The snapshots that are compared, as folders of their runs.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The older snapshot.
    pub base: &'a Path,
    /// The newer one of the same process.
    pub target: &'a Path,
    /// A third, later one, for candidates of leaks.
    pub last: Option<&'a Path>,
    /// .NET: the replay, with tracks, of the trace of which the others are walks.
    pub tracks: Option<&'a Path>,
    /// Whether the ids of objects of formats that have addresses are none, but numbers that objects keep.
    pub stable_ids: bool,
    /// Whether objects that both snapshots have are listed too.
    pub kept: bool,
}

/// The answer in brief. Sizes are bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The tables that were written.
    pub tables: Vec<run::Table>,
    /// Sums over all classes.
    pub total: Change,
    /// The classes that grew most by shallow size, at most [`MOST_CLASSES`].
    pub grown: Vec<ClassChange>,
    /// Candidates of leaks, where a third snapshot was given.
    pub candidates: Option<Candidates>,
    /// What a reader must know, a sentence each.
    pub remarks: Vec<String>,
}

/// Classes that an answer names at most.
pub const MOST_CLASSES: usize = 20;

/// Objects that came, went and stayed. Sizes are shallow ones, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Objects that only the target has.
    pub new_count: u64,
    /// Objects that only the base has.
    pub deleted_count: u64,
    /// Objects that both have.
    pub kept_count: u64,
    /// Sizes of the new ones.
    pub new_bytes: u64,
    /// Sizes of the deleted ones.
    pub deleted_bytes: u64,
    /// Sizes of the kept ones, in the target.
    pub kept_bytes: u64,
    /// Sizes of the kept ones, in the base.
    pub kept_base_bytes: u64,
}

impl Change {
    /// New objects less deleted ones.
    #[must_use]
    pub fn delta_count(&self) -> i64 {
        less(self.new_count, self.deleted_count)
    }

    /// Their sizes.
    #[must_use]
    pub fn delta_bytes(&self) -> i64 {
        less(self.new_bytes, self.deleted_bytes)
    }

    /// What kept objects grew.
    #[must_use]
    pub fn kept_delta_bytes(&self) -> i64 {
        less(self.kept_bytes, self.kept_base_bytes)
    }

    /// Whether no object is new or deleted.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.new_count == 0 && self.deleted_count == 0
    }
}

/// One number less another, as far as numbers with a sign go.
fn less(more: u64, less: u64) -> i64 {
    let difference = i128::from(more) - i128::from(less);
    difference.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// What became of the objects of a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassChange {
    /// Its name.
    pub class: String,
    /// Its key.
    pub class_key: String,
    /// Its objects.
    #[serde(flatten)]
    pub change: Change,
}

/// Candidates of leaks in brief.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidates {
    /// How many there are.
    pub count: u64,
    /// Their shallow sizes.
    pub shallow_bytes: u64,
    /// Retained sizes of those whose immediate dominator is none.
    #[serde(default)]
    pub retained_bytes: u64,
    /// By class and chain, those that retain most first, at most [`MOST_CLASSES`].
    pub groups: Vec<CandidateGroup>,
}

/// Candidates of one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateGroup {
    /// The class.
    pub class: String,
    /// Its key.
    pub class_key: String,
    /// The chain from a root that holds most bytes of the class, where it is known.
    pub chain: Option<String>,
    /// Candidates.
    pub count: u64,
    /// Their shallow sizes.
    pub shallow_bytes: u64,
    /// Retained sizes of those whose immediate dominator is no candidate.
    #[serde(default)]
    pub retained_bytes: u64,
    /// The largest retained size of one of them.
    pub max_retained_bytes: u64,
    /// The one that has it, in the `nodes` of the third snapshot.
    pub example_node: u32,
}
