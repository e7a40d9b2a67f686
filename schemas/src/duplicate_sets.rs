//! Table `duplicate_sets`.

use crate::ids::{NodeId, SetId};
use crate::table::{ColumnSchema, FINGERPRINT, Runs, SIGNATURE, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "duplicate_sets",
    file: "duplicate_sets.parquet",
    row: "set of duplicate instances",
    order: "`additional_bytes` descending, `example_node`",
    runs: Runs::Analyze,
    condition: Some("unless `--duplicates none`"),
    notes: &[
        "Sets nest, so `additional_bytes` does not add up. A set with `held_by` follows from another: look at those \
         without.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("set", Type::UInt32, "Set number, from 0, as in `nodes.duplicate_set`"),
    required("class_id", Type::UInt32, "Class of the members"),
    required("class", Type::Utf8, "Name"),
    required(
        "status",
        Type::Utf8,
        "`exact`: the members are duplicates of each other and of no other node; `possible`: no comparison \
         distinguishes them",
    ),
    optional("reason", Type::Utf8, "Why it is only possible: data missing in the input or not compared; null if exact"),
    required("trivial", Type::Boolean, "Whether the members have no references to compare"),
    required("members", Type::Int64, "Members, at least 2"),
    required("instance_bytes", Type::Int64, "Size of one member"),
    required(
        "additional_bytes",
        Type::Int64,
        "Bytes freed by merging all members; without objects they refer to if references were not compared",
    ),
    required(
        "additional_exact",
        Type::Boolean,
        "Whether `additional_bytes` is exact if all members are duplicates; else it lies between the next two",
    ),
    required(
        "additional_bytes_least",
        Type::Int64,
        "Bytes freed in any case, by the members that are certainly duplicates",
    ),
    optional(
        "additional_bytes_most",
        Type::Int64,
        "Bytes freed at most; in possible sets that are not `additional_exact`, at most the members' joint retained \
         size; null if references were not compared",
    ),
    optional(
        "held_by",
        Type::UInt32,
        "Nearest set that dominates this one: all paths from roots to its members pass a member of that; null if none",
    ),
    required("example_node", Type::UInt32, "`node` of the first member"),
    optional("preview", Type::Utf8, "Content of a member; null if its class says all"),
    SIGNATURE,
    FINGERPRINT,
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// A row as the stages that compute sets write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct SetRow {
    /// Bytes that merging the members would free.
    pub additional_bytes: u64,
    /// Lower bound of [`Self::additional_bytes`].
    pub least_bytes: u64,
    /// Upper bound; [`ABSENT`](crate::replay::ABSENT) if references were not compared.
    pub most_bytes: u64,
    /// Size of one member, bytes.
    pub instance_bytes: u64,
    /// The first member.
    pub example: NodeId,
    /// Number of members.
    pub members: u32,
    /// The set that dominates this one, or [`SetId::NONE`].
    pub held_by: SetId,
    /// Why the set is only possible, as [`limits`](crate::scratch::limits); 0 for an exact set.
    pub reasons: u16,
    /// 1 if there are no references to compare.
    pub trivial: u8,
    /// 1 if the additional bytes are exact.
    pub exact: u8,
}
