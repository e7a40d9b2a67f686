//! `run.json`: what a run is and what it found, in brief. Written last: a folder without it is no run.

use crate::findings::Finding;
use crate::options::Options;
use crate::replay::Facts;
use serde::{Deserialize, Serialize};

/// File name inside a run.
pub const FILE: &str = "run.json";

/// What the name of a folder of tables begins with, in a run that lies in an object store.
pub const TABLES: &str = "tables-";

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// XXH3-64 of all that follows in the file, sixteen digits; a run of an older version has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
    /// Version of heaplake that wrote the run.
    pub heaplake_version: String,
    /// Version of its tables.
    pub schema_version: u32,
    /// Name of the snapshot.
    pub snapshot: String,
    /// Its release.
    pub release: String,
    /// The input as the user named it.
    pub source: String,
    /// Bytes of the input as stored.
    pub input_bytes: u64,
    /// XXH3-128 of them.
    pub input_hash: String,
    /// When the input was captured, in microseconds since 1970: what it says itself, else when its file was last changed.
    /// Nothing for standard input that does not say; a run of an older version has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured_at_us: Option<i64>,
    /// Folder of the tables beside `run.json`, in an object store: each attempt to upload a run has one of its own. Elsewhere
    /// tables lie beside `run.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// What shaped the result.
    pub options: Options,
    /// The tables.
    pub tables: Vec<Table>,
    /// What `heaplake show` prints.
    pub summary: Summary,
    /// What a replayed trace came to; a run without it is the analysis of a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

/// A replayed trace in brief.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// What the trace contains and what it can tell.
    pub facts: Facts,
    /// The types that were allocated most, by estimated bytes.
    pub types: Vec<NamedAmount>,
    /// The functions that allocate most, with what they call.
    pub functions: Vec<NamedAmount>,
    /// The paths of calls whose objects died most in generation 2, allocated at their inner end.
    #[serde(default)]
    pub old_paths: Vec<NamedAmount>,
}

/// Something and the allocations that it represents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedAmount {
    /// Its name; before its script was made, where a source map tells.
    pub name: String,
    /// File and line of its source, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Objects, where they are known.
    pub count: Option<u64>,
    /// Their bytes, where they are known.
    pub bytes: Option<u64>,
}

/// A table of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// File name inside the run.
    pub file: String,
    /// Rows.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// XXH3-64 of the file, sixteen digits; a table of a run of an older version has none, and neither has one of a
    /// comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xxh3_64: Option<String>,
}

/// The run in brief. Sizes are bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Format of the input.
    pub format: String,
    /// Nodes.
    pub node_count: u64,
    /// Edges.
    pub edge_count: u64,
    /// Strings of the input.
    pub string_count: u64,
    /// Classes with at least one node of non-zero size.
    pub class_count: u64,
    /// Sum of shallow sizes.
    pub shallow_bytes: u64,
    /// Sum of native sizes, where the input has them.
    pub native_bytes: Option<u64>,
    /// Nodes that are garbage, where the format keeps such.
    pub unreachable_count: u64,
    /// Their shallow sizes.
    pub unreachable_bytes: u64,
    /// DOM nodes that are detached from their document.
    pub detached_count: u64,
    /// What the run leaves out, where the input is damaged and its readable part was asked for.
    #[serde(default)]
    pub partial: Option<String>,
    /// What else there is to say of the input, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Kinds of nodes that are parts of an object, which the input says to hold what they hold, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub part_kinds: Vec<String>,
    /// Duplicate instances, where they were looked for.
    #[serde(default)]
    pub duplicates: Option<DuplicateSummary>,
    /// Why they were not looked for, where they were not: then the run has no table of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_duplicates: Option<String>,
    /// The findings, the most severe first.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The largest owners by retained size.
    #[serde(default)]
    pub owners: Vec<NamedOwner>,
    /// The largest classes by retained size.
    pub classes: Vec<NamedClass>,
    /// The largest objects by retained size.
    pub objects: Vec<LargeObject>,
    /// Time from the first byte to the last table.
    pub wall_seconds: f64,
    /// Most memory that the process had, where the system tells.
    pub peak_rss_bytes: Option<u64>,
    /// Most scratch space that was in use.
    pub scratch_bytes: u64,
}

/// Sums over all nodes. Sizes are bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Shallow sizes of all nodes.
    pub shallow_bytes: u64,
    /// Native sizes of all nodes.
    pub native_bytes: u64,
    /// Reachable nodes.
    pub reachable_count: u64,
    /// Their shallow sizes.
    pub reachable_bytes: u64,
    /// Detached DOM nodes.
    pub detached_count: u64,
}

/// Duplicate instances in brief.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuplicateSummary {
    /// Sets that are exact.
    pub exact: u64,
    /// Sets that are only possible, because of what the input does not tell.
    pub limited: u64,
    /// Sets that are only possible ones, because the search ended early.
    pub open: u64,
    /// Additional bytes of the exact sets that no other set contains.
    pub additional_bytes: u64,
    /// The most that these can be; 0 in runs of older versions.
    #[serde(default)]
    pub most_bytes: u64,
    /// The same of those that are only possible because of what the input does not tell, at most.
    #[serde(default)]
    pub possible_bytes: u64,
    /// The largest of those.
    pub largest: Vec<DuplicateSet>,
    /// Number of classes with possible duplicates.
    #[serde(default)]
    pub possible_class_count: u64,
    /// The largest of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub possible_classes: Vec<PossibleClass>,
}

/// A class with possible duplicates in brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PossibleClass {
    /// Row of `nodes.class_id`.
    pub class_id: u32,
    /// Display name.
    pub class: String,
    /// Members of its possible sets.
    pub members: u64,
    /// Sizes of all members but one of each set, without what they refer to, bytes.
    pub bytes: u64,
    /// What to do, a sentence with a command; empty where only the input could tell more.
    pub next_step: String,
}

/// A set of duplicate instances in brief. Sizes are bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuplicateSet {
    /// Row of `duplicate_sets`.
    pub set: u32,
    /// Class of the members.
    pub class: String,
    /// `exact` or `possible`.
    pub status: String,
    /// Number of members.
    pub members: u64,
    /// Size of one.
    pub instance_bytes: u64,
    /// What would go if they were merged and are all duplicates.
    pub additional_bytes: u64,
    /// The least and the most that would go; nothing where that is not known.
    #[serde(default)]
    pub least_bytes: Option<u64>,
    /// The most.
    #[serde(default)]
    pub most_bytes: Option<u64>,
    /// What a member looks like.
    pub preview: Option<String>,
}

/// An owner in brief. Sizes are bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedOwner {
    /// Its name.
    pub owner: String,
    /// Its objects.
    pub count: u64,
    /// Their shallow sizes.
    pub shallow_bytes: u64,
    /// Those and what has no owner of its own and hangs under them.
    pub retained_bytes: u64,
    /// What would go if they went, where that was worked out.
    pub freed_bytes: Option<u64>,
}

/// A class in brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedClass {
    /// Row of `nodes.class_id`.
    pub class_id: u32,
    /// Display name.
    pub class: String,
    /// Nodes of non-zero shallow size.
    pub count: u64,
    /// Their shallow sizes.
    pub shallow_bytes: u64,
    /// Their retained size, nothing counted twice.
    pub retained_bytes: u64,
    /// What holds its instances, of a big class that several things hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<NamedHolder>,
}

/// A branch of the tree of all holders of a class, in brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedHolder {
    /// Row of `retainer_trees`.
    pub branch: u32,
    /// The path from the holders to the instances.
    pub text: String,
    /// Instances that it holds.
    pub count: u64,
    /// Those that nothing else holds.
    pub exclusive_count: u64,
    /// Instances that were looked at.
    pub looked_at: u64,
}

/// An object that retains much, and the dominators above it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "LargeObjectRead")]
pub struct LargeObject {
    /// The object.
    #[serde(flatten)]
    pub object: Step,
    /// Its dominators from the root down, the object not included. Of a long path the middle is left out.
    pub path: Vec<Step>,
    /// How many dominators were left out of the middle of the path, after its [`PATH_HEAD`] first ones.
    pub path_left_out: u64,
    /// The highest dominator of nearly the same retained size, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Step>,
}

/// The same as it is read, without keeping what nobody knows.
#[derive(Deserialize)]
struct LargeObjectRead {
    node: u32,
    #[serde(default)]
    id: Option<u64>,
    class: String,
    name: String,
    shallow_bytes: u64,
    retained_bytes: u64,
    path: Vec<Step>,
    path_left_out: u64,
    #[serde(default)]
    head: Option<Step>,
}

impl From<LargeObjectRead> for LargeObject {
    fn from(read: LargeObjectRead) -> Self {
        let LargeObjectRead { node, id, class, name, shallow_bytes, retained_bytes, path, path_left_out, head } = read;
        let object = Step { node, id, class, name, shallow_bytes, retained_bytes };
        Self { object, path, path_left_out, head }
    }
}

/// Dominators that a path shows at its beginning, when it is too long to be shown whole.
pub const PATH_HEAD: usize = 3;
/// Dominators that such a path shows at its end.
pub const PATH_TAIL: usize = 4;

/// One node of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Ordinal.
    pub node: u32,
    /// The format's own id; nothing for a root that the input does not have.
    #[serde(default)]
    pub id: Option<u64>,
    /// Class name.
    pub class: String,
    /// The node's own name, cut to a readable length; empty where it says no more than the class.
    pub name: String,
    /// Shallow size.
    pub shallow_bytes: u64,
    /// Retained size.
    pub retained_bytes: u64,
}
