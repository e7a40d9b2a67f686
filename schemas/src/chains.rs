//! Table `chains`.

use crate::column::{ColumnSchema, FINGERPRINT, SIGNATURE, Type, Unit, bytes, column, count, flag, id, steps, text};
use crate::table::{TableSchema, table};
use arrow::datatypes::{Field, Fields};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "chain of classes to instances of a big class",
    order: "`retained_bytes` descending, `count` descending, `class_id`, `kind` and order of discovery",
    notes: &[
        "A `reference` chain is a shortest path from a root. Ties go to the least edge kinds, then to the least \
         labels and class names from the end upwards, so that other runs choose the same; last, to the least node. A \
         `dominator` chain is the path in the dominator tree.",
        "`signature` has only the last steps of the path, up to the holder, since the rest moves between runs. \
         Comparisons add up chains with equal signatures.",
        "Chains of one kind partition the instances of a class: they sum to its row in `classes`.",
        "`[]` is any index, `(any)` several names with few instances. A star in `text` marks a repeated element: \
         `List.head → Node.next*` is a linked list of any length. Ubiquitous classes do not repeat across classes of \
         the program.",
    ],
    columns: &[
        id("chain", "Row number"),
        text("kind", "`reference` or `dominator`"),
        id("class_id", "Class of the instances, last in the path"),
        text("class", "Name"),
        steps("depth", "Elements of the path"),
        column("path", Type::List(&ELEMENT), Unit::Fields, "Path from the root, without it, to the class"),
        text("text", "The path as text"),
        count("count", "Instances at the end of the chain"),
        bytes("shallow_bytes", "Their sizes"),
        bytes("retained_bytes", "Their retained size, without double counting"),
        id("example_node", "`node` of the instance with the largest retained size"),
        SIGNATURE,
        FINGERPRINT,
    ],
    ..table!("chains")
};

/// Names of the kinds of chains, by [`ChainRow::kind`].
pub const KINDS: [&str; 2] = ["reference", "dominator"];

const ELEMENT: Type = Type::Struct(ELEMENT_FIELDS);

const ELEMENT_FIELDS: &[ColumnSchema] = &[
    text("edge", "Label of the edge to the element; null if it has none").or_null(),
    text("class", "Its class"),
    flag("repeats", "Whether it occurs one or more times in a row"),
];

/// An element of `path`.
pub fn element() -> Field {
    crate::column::element(&ELEMENT, false)
}

/// Fields of an element of `path`.
pub fn element_fields() -> Fields {
    crate::column::fields(ELEMENT_FIELDS)
}

/// A row as the stage that finds chains writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ChainRow {
    /// Position in [`KINDS`].
    pub kind: u32,
    /// Class of the instances.
    pub class_id: u32,
    /// Last element of the path: a row of [`CHAIN_ELEMENT`](crate::scratch::CHAIN_ELEMENT).
    pub element: u32,
    /// The instance with the largest retained size.
    pub example_node: u32,
    /// Instances.
    pub count: u64,
    /// Sum of their shallow sizes, bytes.
    pub shallow_bytes: u64,
    /// Their retained size without double counting, bytes.
    pub retained_bytes: u64,
}

/// An element of paths. Paths with a common start share elements: a trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Element {
    /// Row of the previous element; `u32::MAX` for the first.
    pub parent: u32,
    /// Label of the edge to it: a string id, or one of [`label`].
    pub label: u32,
    /// Class.
    pub class: u32,
    /// 1 if it replaces several equal elements in a row.
    pub repeats: u32,
}

/// Labels that are not string ids.
pub mod label {
    /// Unnamed edge.
    pub const NONE: u32 = u32::MAX;
    /// Indexed edge.
    pub const INDEX: u32 = u32::MAX - 1;
    /// One of two edges that keep their target alive only together: an entry of a weak map.
    pub const ENTRY: u32 = u32::MAX - 2;
    /// Any of several names.
    pub const ANY: u32 = u32::MAX - 3;
    /// Left-out elements.
    pub const CUT: u32 = u32::MAX - 4;
    /// Node without a path that distances follow.
    pub const NO_PATH: u32 = u32::MAX - 5;
}
