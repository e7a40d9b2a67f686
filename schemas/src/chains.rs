//! Table `chains`: one row per distinct chain of classes that leads to instances of a big class, sorted by
//! `retained_bytes` descending, then `count` descending, then class, then kind and the order in which chains were found.
//!
//! There are two kinds. A `reference` chain is the shortest way from a root: of several equally short ones that over the
//! least kind of edge, then from the least node. A `dominator` chain says who alone holds the instances. The counts of
//! the chains of one kind and class sum to the class's `count`, and so do `shallow_bytes` and `retained_bytes`.

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "chains.parquet";

/// Names of the kinds of chains, by [`ChainRow::kind`].
pub const KINDS: [&str; 2] = ["reference", "dominator"];

/// Fields of an element of `path`.
#[must_use]
pub fn element_fields() -> Fields {
    Fields::from(vec![
        Field::new("edge", DataType::Utf8, true),
        Field::new("class", DataType::Utf8, false),
        Field::new("repeats", DataType::Boolean, false),
    ])
}

/// An element of `path`.
#[must_use]
pub fn element() -> Field {
    Field::new("item", DataType::Struct(element_fields()), false)
}

/// The columns.
///
/// | column | unit and meaning |
/// |---|---|
/// | `chain` | number of the row, 0-based |
/// | `kind` | `reference` or `dominator` |
/// | `class_id`, `class` | class of the instances, as in `classes`; the last element of the path |
/// | `depth` | elements of the path |
/// | `path` | from the root, which is left out, to the class: the name of the edge that leads there (`[]` for any index; null where the format gives none), the class, and whether it repeats (recursion folded) |
/// | `text` | the path for people |
/// | `count` | instances |
/// | `shallow_bytes` | sum of their sizes |
/// | `retained_bytes` | sum of the retained sizes of those that no other instance of the class dominates: nothing counts twice |
/// | `example_node` | the instance that retains most |
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("chain", DataType::UInt32, false),
        Field::new("kind", DataType::Utf8, false),
        Field::new("class_id", DataType::UInt32, false),
        Field::new("class", DataType::Utf8, false),
        Field::new("depth", DataType::UInt32, false),
        Field::new("path", DataType::List(Arc::new(element())), false),
        Field::new("text", DataType::Utf8, false),
        Field::new("count", DataType::UInt64, false),
        Field::new("shallow_bytes", DataType::UInt64, false),
        Field::new("retained_bytes", DataType::UInt64, false),
        Field::new("example_node", DataType::UInt32, false),
    ]))
}

/// One row, as the stage that finds chains hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ChainRow {
    /// Position in [`KINDS`].
    pub kind: u32,
    /// Class of the instances.
    pub class_id: u32,
    /// The last element of the path: a row of [`CHAIN_ELEMENT`](crate::scratch::CHAIN_ELEMENT).
    pub element: u32,
    /// The instance that retains most.
    pub example_node: u32,
    /// Instances.
    pub count: u64,
    /// Sum of their shallow sizes, bytes.
    pub shallow_bytes: u64,
    /// Sum of retained sizes without double counting, bytes.
    pub retained_bytes: u64,
}

/// An element of paths. Paths that begin alike share their elements: together they are a trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Element {
    /// Row of the element before; `u32::MAX` for a first one.
    pub parent: u32,
    /// What leads to it: a string id, or one of [`label`].
    pub label: u32,
    /// Class.
    pub class: u32,
    /// 1 where it stands for several in a row.
    pub repeats: u32,
}

/// Labels that are no string ids.
pub mod label {
    /// There is no name.
    pub const NONE: u32 = u32::MAX;
    /// An edge with a number.
    pub const INDEX: u32 = u32::MAX - 1;
    /// One of a pair of edges that hold only together: an entry of a weak map.
    pub const ENTRY: u32 = u32::MAX - 2;
    /// Any of several names.
    pub const ANY: u32 = u32::MAX - 3;
    /// Elements in between are left out.
    pub const CUT: u32 = u32::MAX - 4;
    /// There is no path to the node that distances follow.
    pub const NO_PATH: u32 = u32::MAX - 5;
}
