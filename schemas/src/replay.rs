//! Scratch columns between the stages of a replay, and metadata of its trace.

use crate::allocation_callees::CalleeRow;
use crate::allocation_callers::CallerRow;
use crate::allocation_functions::FunctionRow;
use crate::allocation_types::TypeRow;
use crate::collection_roots::RootRow;
use crate::collections::{CollectionDetail, CollectionRow};
use crate::generation_bounds::BoundRow;
use crate::lifetime_paths::PathRow;
use crate::lifetime_sites::SiteRow;
use crate::moved_ranges::MoveRow;
use crate::object_counts::ObjectCountRow;
use crate::object_generations::GenerationRow;
use crate::object_lifetimes::LifetimeRow;
use crate::object_tracks::TrackRow;
use crate::old_object_chains::OldObjectChainRow;
use crate::old_objects::OldObjectRow;
use crate::recorded_events::RecordedEventRow;
use crate::scratch_column::{Column, StringColumns};
pub use crate::scratch_column::{FUNCTION_STRINGS as STRINGS, RECORDING_TEXTS, TYPE_NAMES};
use crate::walk_objects::WalkRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Null sentinel of optional numbers in rows.
pub const ABSENT: u64 = u64::MAX;

/// Rows of `allocation_types`.
pub const TYPES: Column<TypeRow> = TypeRow::ROWS;
/// Rows of `allocation_functions`.
pub const FUNCTIONS: Column<FunctionRow> = FunctionRow::ROWS;
/// Rows of `allocation_callers`.
pub const CALLERS: Column<CallerRow> = CallerRow::ROWS;
/// Rows of `allocation_callees`.
pub const CALLEES: Column<CalleeRow> = CalleeRow::ROWS;
/// Rows of `object_lifetimes`.
pub const LIFETIMES: Column<LifetimeRow> = LifetimeRow::ROWS;
/// Rows of `lifetime_sites`.
pub const SITES: Column<SiteRow> = SiteRow::ROWS;
/// Rows of `lifetime_paths`.
pub const PATHS: Column<PathRow> = PathRow::ROWS;
/// Rows of `collections`.
pub const COLLECTIONS: Column<CollectionRow> = Column::new("replay.collection");
/// Rows of `object_tracks`.
pub const TRACKS: Column<TrackRow> = TrackRow::ROWS;
/// Rows of `moved_ranges`.
pub const MOVES: Column<MoveRow> = MoveRow::ROWS;
/// Rows of `walk_objects`.
pub const WALK_OBJECTS: Column<WalkRow> = WalkRow::ROWS;
/// Details of [`COLLECTIONS`] that only Java recordings have.
pub const COLLECTION_DETAILS: Column<CollectionDetail> = Column::new("replay.collection_detail");
/// Rows of `old_objects`.
pub const OLD_OBJECTS: Column<OldObjectRow> = OldObjectRow::ROWS;
/// Rows of `old_object_chains`.
pub const OLD_OBJECT_CHAINS: Column<OldObjectChainRow> = OldObjectChainRow::ROWS;
/// Rows of `object_counts`.
pub const OBJECT_COUNTS: Column<ObjectCountRow> = ObjectCountRow::ROWS;
/// Rows of `recorded_events`.
pub const RECORDED_EVENTS: Column<RecordedEventRow> = RecordedEventRow::ROWS;
/// Rows of `object_generations`.
pub const OBJECT_GENERATIONS: Column<GenerationRow> = GenerationRow::ROWS;
/// Rows of `generation_bounds`.
pub const BOUNDS: Column<BoundRow> = BoundRow::ROWS;
/// Rows of `collection_roots`.
pub const ROOTS: Column<RootRow> = RootRow::ROWS;
/// Signatures of types, by number of the type.
pub const TYPE_SIGNATURES: StringColumns = StringColumns {
    bytes: Column::new("replay.type_signature.bytes"),
    start: Column::new("replay.type_signature.start"),
};
/// Signatures of functions, in the order of [`FUNCTIONS`].
pub const FUNCTION_SIGNATURES: StringColumns = StringColumns {
    bytes: Column::new("replay.function_signature.bytes"),
    start: Column::new("replay.function_signature.start"),
};
/// Signatures of [`CALLEES`], in their order.
pub const CALLEE_SIGNATURES: StringColumns = StringColumns {
    bytes: Column::new("replay.callee_signature.bytes"),
    start: Column::new("replay.callee_signature.start"),
};
/// Fingerprints of [`CALLEES`], over all functions of a path, also those that the signatures omit.
pub const CALLEE_FINGERPRINT: Column<u64> = Column::new("replay.callee_fingerprint");
/// Signatures of [`LIFETIMES`], in their order.
pub const LIFETIME_SIGNATURES: StringColumns = StringColumns {
    bytes: Column::new("replay.lifetime_signature.bytes"),
    start: Column::new("replay.lifetime_signature.start"),
};

/// Document of [`Metadata`].
pub const METADATA: &str = "replay.json";

/// Documents of [`DeepStacks`], one per export: flame graphs, pprof.
pub const COLLAPSED_CUT: &str = "collapsed_cut.json";
/// See [`COLLAPSED_CUT`].
pub const PPROF_CUT: &str = "pprof_cut.json";

/// How an export cuts deep stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeepStacks {
    /// Most functions of a stack.
    pub frames: u64,
    /// Most characters of a name.
    pub name: u64,
    /// Stacks with more functions.
    pub stacks: u64,
}

/// Allocations recorded by a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Coverage {
    /// None.
    #[default]
    None,
    /// All.
    Every,
    /// A sample, each with the number of allocations that it represents.
    Sampled,
    /// One per fixed number of bytes.
    Ticks,
    /// A sample, each with the bytes that it represents.
    Weighted,
}

/// Metadata of a trace, and totals of its replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metadata {
    /// Name of the format.
    pub format: String,
    /// Its version, if the trace states one.
    pub format_version: Option<String>,
    /// Bytes of the trace as stored.
    pub input_bytes: u64,
    /// XXH3-128 of the trace as stored, hexadecimal.
    pub input_hash: String,
    /// Bytes after decompression.
    pub content_bytes: u64,
    /// Allocations recorded by the trace.
    pub coverage: Coverage,
    /// Whether allocations come with stacks.
    pub has_stacks: bool,
    /// Whether garbage collections report moved and surviving ranges.
    pub has_moves: bool,
    /// Whether types have names.
    pub has_type_names: bool,
    /// Whether events have times.
    pub has_times: bool,
    /// Mean sampling interval.
    pub interval: u32,
    /// Whether objects were followed to their deaths.
    pub tracked: bool,
    /// Allocations in the trace.
    pub allocated_count: u64,
    /// Their sizes, bytes, if the trace has all.
    pub allocated_bytes: u64,
    /// Sampled allocations.
    pub sampled_count: u64,
    /// Sampled allocations without a stack.
    pub stackless_count: u64,
    /// Collections.
    pub collection_count: u64,
    /// Objects alive at the end.
    pub live_count: u64,
    /// Their sizes, bytes.
    pub live_bytes: u64,
    /// Objects that collections may or may not have reclaimed, over all collections.
    #[serde(default)]
    pub doubtful_count: u64,
    /// Bytes that the allocations represent, if the trace has a weighted sample.
    #[serde(default)]
    pub estimated_bytes: u64,
    /// Old objects that a recording of Java sampled.
    #[serde(default)]
    pub old_object_count: u64,
    /// The most frequent paths to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldPath>,
    /// Left-out part of a truncated trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// Anomalies of the trace, counted by name.
    pub anomalies: std::collections::BTreeMap<String, u64>,
    /// Further remarks, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// A path from a root to old objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldPath {
    /// The path, in classes and fields.
    pub path: String,
    /// Sampled objects at its end.
    pub count: u64,
}
