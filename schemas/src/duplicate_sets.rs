//! Table `duplicate_sets`: one row per set of duplicate instances, sorted by `additional_bytes` descending, then by
//! `example_node`.

use crate::ids::{NodeId, SetId};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "duplicate_sets.parquet";

/// The columns.
///
/// | column | unit and meaning |
/// |---|---|
/// | `set` | number of the set, 0-based, as in `nodes.duplicate_set` |
/// | `class_id`, `class` | class of the members |
/// | `status` | `exact`: all members are duplicates of each other and there are no others; `possible`: nothing that could be found out tells them apart, see `reason` |
/// | `reason` | why a set is only possible: what the input does not tell, or what was not looked into |
/// | `trivial` | whether the members have no references but those that are compared by identity |
/// | `members` | number of members, at least 2 |
/// | `instance_bytes` | size of one member, bytes |
/// | `additional_bytes` | size of all that would go if the members were merged into one, bytes. Sets nest: these numbers do not add up |
/// | `additional_exact` | whether `additional_bytes` is exact; otherwise it is at least that |
/// | `held_by` | the nearest set whose members must be passed on every way from a root to a member of this one |
/// | `example_node` | the first member |
/// | `preview` | what a member looks like |
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("set", DataType::UInt32, false),
        Field::new("class_id", DataType::UInt32, false),
        Field::new("class", DataType::Utf8, false),
        Field::new("status", DataType::Utf8, false),
        Field::new("reason", DataType::Utf8, true),
        Field::new("trivial", DataType::Boolean, false),
        Field::new("members", DataType::UInt64, false),
        Field::new("instance_bytes", DataType::UInt64, false),
        Field::new("additional_bytes", DataType::UInt64, false),
        Field::new("additional_exact", DataType::Boolean, false),
        Field::new("held_by", DataType::UInt32, true),
        Field::new("example_node", DataType::UInt32, false),
        Field::new("preview", DataType::Utf8, true),
    ]))
}

/// One row, as the stages that compute sets hand it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct SetRow {
    /// Size of what would go if the members were merged, bytes.
    pub additional_bytes: u64,
    /// Size of one member, bytes.
    pub instance_bytes: u64,
    /// The first member.
    pub example: NodeId,
    /// Number of members.
    pub members: u32,
    /// The set that holds this one, or [`SetId::NONE`].
    pub held_by: SetId,
    /// Why the set is only a possible one, as [`limits`](crate::scratch::limits); 0 for an exact one.
    pub reasons: u8,
    /// 1 where no reference is looked into.
    pub trivial: u8,
    /// 1 where the additional bytes are exact.
    pub exact: u8,
    /// 0.
    pub unused: u8,
}
