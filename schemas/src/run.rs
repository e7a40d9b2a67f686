//! `run.json`: what a run is and what it found, in brief. Written last: a folder without it is no run.

use crate::findings::Finding;
use crate::replay::Facts;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};

/// File name inside a run.
pub const FILE: &str = "run.json";

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
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
    /// What the trace holds and what it can tell.
    pub facts: Facts,
    /// The types that were allocated most, by estimated bytes.
    pub types: Vec<NamedAmount>,
    /// The functions that allocate most, with what they call.
    pub functions: Vec<NamedAmount>,
}

/// Something and the allocations that it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedAmount {
    /// Its name.
    pub name: String,
    /// Objects, where they are known.
    pub count: Option<u64>,
    /// Their bytes, where they are known.
    pub bytes: Option<u64>,
}

/// How a trace was replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayOptions {
    /// Mean interval of sampling.
    pub sample_interval: u32,
    /// What was recorded of objects.
    pub sample_mode: SampleMode,
    /// Seed of sampling.
    pub seed: u64,
    /// The tables that are written, where the trace tells enough for them.
    #[serde(default = "TraceTable::most")]
    pub tables: BTreeSet<TraceTable>,
    /// Whether allocations are written as a profile.
    #[serde(default)]
    pub pprof: bool,
    /// Whether they are written as collapsed stacks.
    #[serde(default)]
    pub collapsed: bool,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            sample_interval: 10,
            sample_mode: SampleMode::default(),
            seed: 0,
            tables: TraceTable::most(),
            pprof: false,
            collapsed: false,
        }
    }
}

impl ReplayOptions {
    /// Whether each object's way is recorded.
    #[must_use]
    pub fn tracks(&self) -> bool {
        TraceTable::TRACKS.iter().any(|table| self.tables.contains(table))
    }
}

/// Tables of replays that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceTable {
    /// What was allocated, by type.
    AllocationTypes,
    /// By function.
    AllocationFunctions,
    /// The reverse call graph of each type.
    AllocationCallers,
    /// The call tree.
    AllocationCallees,
    /// How long objects live, by type.
    ObjectLifetimes,
    /// The same by allocating function.
    LifetimeSites,
    /// The collections.
    Collections,
    /// The findings.
    Findings,
    /// Each object's way.
    ObjectTracks,
    /// The ranges that collections moved.
    MovedRanges,
}

impl TraceTable {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::AllocationTypes,
        Self::AllocationFunctions,
        Self::AllocationCallers,
        Self::AllocationCallees,
        Self::ObjectLifetimes,
        Self::LifetimeSites,
        Self::Collections,
        Self::Findings,
        Self::ObjectTracks,
        Self::MovedRanges,
    ];

    /// Those that say where each object was; they are as long as the trace.
    pub const TRACKS: [Self; 2] = [Self::ObjectTracks, Self::MovedRanges];

    /// All but those of single objects.
    #[must_use]
    pub fn most() -> BTreeSet<Self> {
        Self::ALL.into_iter().filter(|table| !Self::TRACKS.contains(table)).collect()
    }

    /// Name, as on the command line and that of the file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AllocationTypes => "allocation_types",
            Self::AllocationFunctions => "allocation_functions",
            Self::AllocationCallers => "allocation_callers",
            Self::AllocationCallees => "allocation_callees",
            Self::ObjectLifetimes => "object_lifetimes",
            Self::LifetimeSites => "lifetime_sites",
            Self::Collections => "collections",
            Self::Findings => "findings",
            Self::ObjectTracks => "object_tracks",
            Self::MovedRanges => "moved_ranges",
        }
    }
}

/// What is recorded of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleMode {
    /// Their creation.
    Creation,
    /// Creation and collection.
    #[default]
    CreationAndCollection,
}

impl SampleMode {
    /// Name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Creation => "creation",
            Self::CreationAndCollection => "creation-and-collection",
        }
    }
}

/// Options that shape the result; two runs on the same input with the same options have the same tables. Those that are
/// about snapshots are not written for a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Options {
    /// The tables that are written, where the format has them.
    #[serde(default)]
    pub tables: Tables,
    /// The user's labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// What weak references do, in formats that leave the choice.
    #[serde(default)]
    pub referents: Referents,
    /// Whether a damaged input is analysed as far as it can be read.
    #[serde(default)]
    pub salvage: bool,
    /// Which of the walks of the heap in a trace, counted from 1, where not the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk: Option<u32>,
    /// Which classes are big.
    #[serde(default)]
    pub big: BigClasses,
    /// How far duplicates are looked for.
    #[serde(default)]
    pub duplicates: Duplicates,
    /// Patterns of names of classes for which they are looked for to the end in any case.
    #[serde(default)]
    pub duplicates_of: Vec<String>,
    /// Work that is allowed for it, in pairs of slots, where the user set it.
    #[serde(default)]
    pub duplicate_work: Option<u64>,
    /// To whom objects belong, where the user says so.
    #[serde(default)]
    pub owners: Option<OwnerRules>,
    /// How a trace was replayed; nothing for the analysis of a snapshot.
    #[serde(default)]
    pub replay: Option<ReplayOptions>,
}

impl Serialize for Options {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Without a rest, so that a new option is not forgotten here.
        let Self {
            tables,
            labels,
            referents,
            salvage,
            walk,
            big,
            duplicates,
            duplicates_of,
            duplicate_work,
            owners,
            replay,
        } = self;
        let mut map = serializer.serialize_map(None)?;
        if let Some(replay) = replay {
            map.serialize_entry("labels", labels)?;
            map.serialize_entry("replay", replay)?;
            return map.end();
        }
        map.serialize_entry("tables", tables)?;
        map.serialize_entry("labels", labels)?;
        map.serialize_entry("referents", referents)?;
        map.serialize_entry("salvage", salvage)?;
        if let Some(walk) = walk {
            map.serialize_entry("walk", walk)?;
        }
        map.serialize_entry("big", big)?;
        map.serialize_entry("duplicates", duplicates)?;
        map.serialize_entry("duplicates_of", duplicates_of)?;
        map.serialize_entry("duplicate_work", duplicate_work)?;
        if let Some(owners) = owners {
            map.serialize_entry("owners", owners)?;
        }
        map.end()
    }
}

/// To whom objects belong: the first rule that fits, else, where that is wanted, the package that their code is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRules {
    /// Whether what fits no rule belongs to its package.
    pub packages: bool,
    /// The rules, in order.
    pub rules: Vec<OwnerRule>,
}

/// A rule fits an object if, of each kind of pattern that it has, one fits. The patterns are globs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRule {
    /// The owner.
    pub name: String,
    /// Names of classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub class: Vec<String>,
    /// Paths of scripts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub script: Vec<String>,
    /// Names of packages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub package: Vec<String>,
    /// Names of classes of class loaders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loader: Vec<String>,
}

/// How far duplicate instances are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Duplicates {
    /// Not at all.
    None,
    /// References are not looked into.
    #[default]
    Trivial,
    /// References are looked into.
    All,
}

impl Duplicates {
    /// Name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Trivial => "trivial",
            Self::All => "all",
        }
    }
}

impl Options {
    /// Whether duplicates are looked for.
    #[must_use]
    pub fn finds_duplicates(&self) -> bool {
        self.duplicates != Duplicates::None || !self.duplicates_of.is_empty()
    }

    /// Whether references of any class are looked into for it.
    #[must_use]
    pub fn looks_into_references(&self) -> bool {
        self.duplicates == Duplicates::All || !self.duplicates_of.is_empty()
    }
}

/// Which classes are big: those that reach one of the thresholds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BigClasses {
    /// Least retained size, bytes, if not 1 % of the heap and at least [`LEAST_RETAINED`].
    pub min_retained: Option<u64>,
    /// Least number of instances, if not 1 % of all and at least [`LEAST_COUNT`].
    pub min_count: Option<u64>,
    /// Patterns of names; where there are some, other classes are not big.
    pub classes: Vec<String>,
}

impl std::fmt::Display for BigClasses {
    /// As on the command line.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let least = [("--min-retained", self.min_retained), ("--min-count", self.min_count)];
        let least = least.iter().filter_map(|(name, value)| Some(format!("{name} {}", (*value)?)));
        let classes = self.classes.iter().map(|pattern| format!("--class {pattern}"));
        let given: Vec<String> = least.chain(classes).collect();
        formatter.write_str(if given.is_empty() { "the defaults" } else { "" })?;
        formatter.write_str(&given.join(" "))
    }
}

/// What a class must retain to be big in a small heap, bytes.
pub const LEAST_RETAINED: u64 = 64 << 10;
/// How many instances a class must have to be big in a small heap.
pub const LEAST_COUNT: u64 = 1000;

/// Tables that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableName {
    /// Every node.
    Nodes,
    /// Every edge.
    Edges,
    /// The classes.
    Classes,
    /// The chains that lead to instances of big classes.
    Chains,
    /// The sets of duplicates, where those are looked for.
    DuplicateSets,
    /// Their members.
    DuplicateMembers,
    /// The findings.
    Findings,
    /// To whom the memory belongs.
    Owners,
    /// The threads, of formats that have some.
    Threads,
    /// The run itself.
    Snapshot,
}

impl TableName {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Nodes,
        Self::Edges,
        Self::Classes,
        Self::Chains,
        Self::DuplicateSets,
        Self::DuplicateMembers,
        Self::Findings,
        Self::Owners,
        Self::Threads,
        Self::Snapshot,
    ];

    /// Name, as on the command line and that of the file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Edges => "edges",
            Self::Classes => "classes",
            Self::Chains => "chains",
            Self::DuplicateSets => "duplicate_sets",
            Self::DuplicateMembers => "duplicate_members",
            Self::Findings => "findings",
            Self::Owners => "owners",
            Self::Threads => "threads",
            Self::Snapshot => "snapshot",
        }
    }
}

/// A choice of tables. The default is all but those of which there is more than most users want.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables(BTreeSet<TableName>);

impl Default for Tables {
    fn default() -> Self {
        TableName::ALL.into_iter().filter(|&table| table != TableName::Edges).collect()
    }
}

impl FromIterator<TableName> for Tables {
    fn from_iter<I: IntoIterator<Item = TableName>>(tables: I) -> Self {
        Self(tables.into_iter().collect())
    }
}

impl Tables {
    /// Every table that there is.
    #[must_use]
    pub fn all() -> Self {
        TableName::ALL.into_iter().collect()
    }

    /// The same and one more.
    #[must_use]
    pub fn with(mut self, table: TableName) -> Self {
        self.0.insert(table);
        self
    }

    /// Whether a table is wanted.
    #[must_use]
    pub fn has(&self, table: TableName) -> bool {
        self.0.contains(&table)
    }
}

impl std::fmt::Display for Tables {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|table| table.name()).collect();
        formatter.write_str(&names.join(","))
    }
}

/// Whether weak, soft and phantom references hold what they refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Referents {
    /// They do.
    #[default]
    Hold,
    /// They do not.
    Skip,
}

impl Referents {
    /// Name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Skip => "skip",
        }
    }
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
    /// Duplicate instances, where they were looked for.
    #[serde(default)]
    pub duplicates: Option<DuplicateSummary>,
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

/// Duplicate instances in brief.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuplicateSummary {
    /// Sets that are exact.
    pub exact: u64,
    /// Sets that are only possible, because of what the input does not tell.
    pub limited: u64,
    /// Sets that are only possible, because nobody looked into them to the end.
    pub open: u64,
    /// Additional bytes of the exact sets that no other set holds.
    pub additional_bytes: u64,
    /// The same of those that are only possible because of what the input does not tell.
    #[serde(default)]
    pub possible_bytes: u64,
    /// The largest of those.
    pub largest: Vec<DuplicateSet>,
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
    /// What would go if they were merged.
    pub additional_bytes: u64,
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
}

/// An object that retains much, and the dominators above it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeObject {
    /// The object.
    #[serde(flatten)]
    pub object: Step,
    /// Its dominators from the root down, the object not included. Of a long path the middle is left out.
    pub path: Vec<Step>,
    /// How many dominators were left out of the middle of the path, after its [`PATH_HEAD`] first ones.
    pub path_left_out: u64,
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
    /// The format's own id.
    pub id: u64,
    /// Class name.
    pub class: String,
    /// The node's own name, cut to a readable length; empty where it says no more than the class.
    pub name: String,
    /// Shallow size.
    pub shallow_bytes: u64,
    /// Retained size.
    pub retained_bytes: u64,
}
