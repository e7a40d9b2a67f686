//! Table `duplicate_sets`.

use crate::column::{FINGERPRINT, SIGNATURE, bytes, count, flag, id, text};
use crate::ids::{NodeId, SetId};
use crate::table::{TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "set of duplicate instances",
    order: "`additional_bytes` descending, `example_node`",
    condition: Some("unless `--duplicates none`"),
    notes: &[
        "Sets nest, so `additional_bytes` does not add up. A set with `held_by` follows from another: look at those \
         without.",
    ],
    columns: &[
        id("set", "Set number, from 0, as in `nodes.duplicate_set`"),
        id("class_id", "Class of the members"),
        text("class", "Name"),
        text(
            "status",
            "`exact`: the members are duplicates of each other and of no other node; `possible`: no comparison \
         distinguishes them",
        ),
        text("reason", "Why it is only possible: data missing in the input or not compared; null if exact").or_null(),
        flag("trivial", "Whether the members have no references to compare"),
        count("members", "Members, at least 2"),
        bytes("instance_bytes", "Size of one member"),
        bytes(
            "additional_bytes",
            "Bytes freed by merging all members; without objects they refer to if references were \
         not compared",
        ),
        flag(
            "additional_exact",
            "Whether `additional_bytes` is exact if all members are duplicates; else it lies between \
         the next two",
        ),
        bytes("additional_bytes_least", "Bytes freed in any case, by the members that are certainly duplicates"),
        bytes(
            "additional_bytes_most",
            "Bytes freed at most; in possible sets that are not `additional_exact`, at most \
         the members' joint retained \
         size; null if references were not compared",
        )
        .or_null(),
        id(
            "held_by",
            "Nearest set that dominates this one: all paths from roots to its members pass a member of that; \
         null if none",
        )
        .or_null(),
        id("example_node", "`node` of the first member"),
        text("preview", "Content of a member; null if its class says all").or_null(),
        SIGNATURE,
        FINGERPRINT,
    ],
    ..table!("duplicate_sets")
};

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
