//! `run.json`: identity, options, tables and summary of a run. Written last: a folder without it is not a run.

use crate::findings::Finding;
use crate::options::Options;
use crate::replay::Metadata;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// File name inside a run.
pub const FILE: &str = "run.json";

/// Prefix of the folder of tables, for runs in an object store.
pub const TABLES: &str = "tables-";

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// XXH3-64 of all bytes that follow in the file, sixteen digits; absent in runs of older versions.
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
    /// XXH3-128 of the input as stored.
    pub input_hash: String,
    /// In an object store, the tag of the input (ETag), unless it is weak; absent elsewhere and in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tag: Option<String>,
    /// When the input was captured, in microseconds since 1970: as the input states, else when its file was last
    /// changed. Absent for standard input that states none, and in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured_at_us: Option<i64>,
    /// In an object store, folder of the tables beside `run.json`, one per upload attempt. Elsewhere tables are beside
    /// `run.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Options that shaped the result.
    pub options: Options,
    /// The tables.
    pub tables: Vec<Table>,
    /// Contents of `heaplake show`.
    pub summary: Summary,
    /// Summary of a replayed trace; absent for the analysis of a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// In a compacted lake, where the small tables of the run are: those that its folder lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed: Option<Packed>,
}

/// Where the small tables of a run of a compacted lake are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Packed {
    /// The night: day of capture in UTC.
    pub night: String,
    /// Seal of the description before, which names the rows of the run in the packs.
    pub seal: String,
}

/// Summary of a replayed trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// Metadata and totals of the trace.
    #[serde(rename = "facts")]
    pub metadata: Metadata,
    /// Types with most estimated bytes allocated.
    pub types: Vec<NamedAmount>,
    /// Functions that allocate most, callees included.
    pub functions: Vec<NamedAmount>,
    /// Call paths whose objects died most in generation 2, allocated at their inner end.
    #[serde(default)]
    pub old_paths: Vec<NamedAmount>,
}

/// Something with the allocations that it represents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedAmount {
    /// Its name; the original one if a source map has it.
    pub name: String,
    /// File and line of its source, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Objects, if known.
    pub count: Option<u64>,
    /// Their bytes, if known.
    pub bytes: Option<u64>,
}

/// A table of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// File name inside the run.
    pub file: String,
    /// Rows.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// XXH3-64 of the file, sixteen digits; absent in runs of older versions and in comparisons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xxh3_64: Option<String>,
}

/// Summary of a run. Sizes are bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Sum of native sizes, if the input has them.
    pub native_bytes: Option<u64>,
    /// Garbage nodes, if the format keeps garbage.
    pub unreachable_count: u64,
    /// Their shallow sizes.
    pub unreachable_bytes: u64,
    /// DOM nodes detached from their document.
    pub detached_count: u64,
    /// Left-out part of a damaged input, if the user asked for the readable part.
    #[serde(default)]
    pub partial: Option<String>,
    /// Further remarks about the input, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Node kinds that are parts of an object and whose references the input repeats with that object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub part_kinds: Vec<String>,
    /// Duplicate instances, if searched.
    #[serde(default)]
    pub duplicates: Option<DuplicateSummary>,
    /// Why duplicates were not searched; the run then has no table of them.
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
    /// Elapsed time from the first byte to the last table.
    pub wall_seconds: f64,
    /// Peak resident memory of the process, if the system reports it.
    pub peak_rss_bytes: Option<u64>,
    /// Peak scratch space.
    pub scratch_bytes: u64,
}

/// Sums over all nodes. Sizes are bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Summary of duplicate instances.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DuplicateSummary {
    /// Exact sets.
    pub exact: u64,
    /// Sets that are only possible because the input lacks data.
    pub limited: u64,
    /// Sets that are only possible because the search ended early.
    pub open: u64,
    /// Additional bytes of the exact sets that no other set dominates.
    pub additional_bytes: u64,
    /// Upper bound of [`Self::additional_bytes`]; 0 in runs of older versions.
    #[serde(default)]
    pub most_bytes: u64,
    /// Upper bound for the sets that are only possible because the input lacks data.
    #[serde(default)]
    pub possible_bytes: u64,
    /// The largest exact sets.
    pub largest: Vec<DuplicateSet>,
    /// Number of classes with possible duplicates.
    #[serde(default)]
    pub possible_class_count: u64,
    /// The largest of these classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub possible_classes: Vec<PossibleClass>,
}

/// Summary of a class with possible duplicates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PossibleClass {
    /// Row of `nodes.class_id`.
    pub class_id: u32,
    /// Display name.
    pub class: String,
    /// Members of its possible sets.
    pub members: u64,
    /// Sizes of all members but one of each set, without the objects they refer to, bytes.
    pub bytes: u64,
    /// Advice, a sentence with a command; empty if the input lacks the data.
    pub next_step: String,
}

/// Summary of a set of duplicate instances. Sizes are bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DuplicateSet {
    /// Row of `duplicate_sets`.
    pub set: u32,
    /// Class of the members.
    pub class: String,
    /// `exact` or `possible`.
    pub status: String,
    /// Number of members.
    pub members: u64,
    /// Size of one member.
    pub instance_bytes: u64,
    /// Bytes freed by merging all members, if all are duplicates.
    pub additional_bytes: u64,
    /// Lower bound of the bytes freed, if known.
    #[serde(default)]
    pub least_bytes: Option<u64>,
    /// Upper bound, if known.
    #[serde(default)]
    pub most_bytes: Option<u64>,
    /// Content of a member.
    pub preview: Option<String>,
}

/// Summary of an owner. Sizes are bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedOwner {
    /// Its name.
    pub owner: String,
    /// Its objects.
    pub count: u64,
    /// Their shallow sizes.
    pub shallow_bytes: u64,
    /// Shallow sizes of its objects and of objects without an owner that they dominate.
    pub retained_bytes: u64,
    /// Bytes freed without its objects, if computed.
    pub freed_bytes: Option<u64>,
}

/// Summary of a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedClass {
    /// Row of `nodes.class_id`.
    pub class_id: u32,
    /// Display name.
    pub class: String,
    /// Nodes of non-zero shallow size.
    pub count: u64,
    /// Their shallow sizes.
    pub shallow_bytes: u64,
    /// Their retained size, without double counting.
    pub retained_bytes: u64,
    /// Holders of its instances, for big classes with several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<NamedHolder>,
}

/// Summary of a branch of the retainer tree of a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedHolder {
    /// Row of `retainer_trees`.
    pub branch: u32,
    /// Path from the holders to the instances.
    pub text: String,
    /// Instances held through it.
    pub count: u64,
    /// Instances held only by it.
    pub exclusive_count: u64,
    /// Visited instances.
    pub looked_at: u64,
}

/// An object with a large retained size, and the dominators above it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "LargeObjectRead")]
pub struct LargeObject {
    /// The object.
    #[serde(flatten)]
    pub object: Step,
    /// Its dominators from the root down, without itself. Long paths lack their middle.
    pub path: Vec<Step>,
    /// Number of dominators left out of the path, after its first [`PATH_HEAD`].
    pub path_left_out: u64,
    /// The highest dominator of nearly the same retained size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Step>,
}

/// [`LargeObject`] as read: without `flatten`, serde buffers no unknown members.
#[derive(Deserialize, JsonSchema)]
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

/// Dominators at the beginning of a shortened path.
pub const PATH_HEAD: usize = 3;
/// Dominators at its end.
pub const PATH_TAIL: usize = 4;

/// One node of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Ordinal.
    pub node: u32,
    /// The format's own id; `None` for a root that the input lacks.
    #[serde(default)]
    pub id: Option<u64>,
    /// Class name.
    pub class: String,
    /// The node's own name, shortened; empty if it adds nothing to the class.
    pub name: String,
    /// Shallow size.
    pub shallow_bytes: u64,
    /// Retained size.
    pub retained_bytes: u64,
}
