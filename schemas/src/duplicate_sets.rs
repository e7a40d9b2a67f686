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
    order: "`additional_bytes` descending, then `example_node`",
    runs: Runs::Analyze,
    condition: Some("unless `--duplicates none`"),
    notes: &[
        "Sets nest, so `additional_bytes` does not add up. A set with `held_by` is a consequence of another set: look at the \
         sets where it is null.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("set", Type::UInt32, "Number of the set, from 0, as in `nodes.duplicate_set`"),
    required("class_id", Type::UInt32, "Class of the members, as in `classes`"),
    required("class", Type::Utf8, "Its name"),
    required(
        "status",
        Type::Utf8,
        "`exact`: all members are duplicates of each other, and no other node is; `possible`: nothing that was compared tells them apart",
    ),
    optional(
        "reason",
        Type::Utf8,
        "Why a set is only possible: what the input lacks, or what was not compared; null if it is exact",
    ),
    required("trivial", Type::Boolean, "Whether the members have no references to compare"),
    required("members", Type::Int64, "Members, at least 2"),
    required("instance_bytes", Type::Int64, "Size of one member, bytes"),
    required(
        "additional_bytes",
        Type::Int64,
        "Bytes that would be freed if all members were merged into one; where references were not compared, those of \
         the members alone, without what they refer to",
    ),
    required(
        "additional_exact",
        Type::Boolean,
        "Whether `additional_bytes` is exact if all members are duplicates; otherwise it lies between the two that follow",
    ),
    required(
        "additional_bytes_least",
        Type::Int64,
        "Bytes that would be freed in any case: those of members that are duplicates for certain; 0 if no two of them are",
    ),
    optional(
        "additional_bytes_most",
        Type::Int64,
        "Bytes that would be freed at most, if all members are duplicates; in a possible set that is not `additional_exact`, at most what the members retain together; null if references were not compared, since what the members refer to may go too",
    ),
    optional(
        "held_by",
        Type::UInt32,
        "The nearest set that dominates this one: every path from a root to a member of this set passes a member of that one; null if there is none",
    ),
    required("example_node", Type::UInt32, "`node` of the first member"),
    optional("preview", Type::Utf8, "What a member looks like; null if there is no more to show than its class"),
    SIGNATURE,
    FINGERPRINT,
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// One row, as the stages that compute sets hand it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct SetRow {
    /// Bytes that merging the members would free.
    pub additional_bytes: u64,
    /// The least that it would free.
    pub least_bytes: u64,
    /// The most; [`ABSENT`](crate::replay::ABSENT) where references were not compared.
    pub most_bytes: u64,
    /// Size of one member, bytes.
    pub instance_bytes: u64,
    /// The first member.
    pub example: NodeId,
    /// Number of members.
    pub members: u32,
    /// The set whose members contain those of this one, or [`SetId::NONE`].
    pub held_by: SetId,
    /// Why the set is only a possible one, as [`limits`](crate::scratch::limits); 0 for an exact one.
    pub reasons: u16,
    /// 1 where no reference is followed.
    pub trivial: u8,
    /// 1 where the additional bytes are exact.
    pub exact: u8,
}
