//! Table `chains`.

use crate::table::{self, ColumnSchema, FINGERPRINT, Runs, SIGNATURE, TableSchema, Type, optional, required};
use arrow::datatypes::{Field, Fields, SchemaRef};

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "chains",
    file: "chains.parquet",
    row: "chain of classes that leads to instances of a big class",
    order: "`retained_bytes` descending, then `count` descending, then `class_id`, then `kind` and order of discovery",
    runs: Runs::Analyze,
    condition: None,
    notes: &[
        "A `reference` chain is the shortest path from a root. Of several shortest paths it is the one over the least kind \
         of edge, then the least by labels and names of classes, from its end upwards, so that another run of the program has \
         the same; only where all of these are equal, the one from the least node. A `dominator` chain is the path in the \
         dominator tree.",
        "`signature` has the last steps of the path, up to the holder, not the whole of it: the shortest path moves when \
         anything near a root refers to the same objects, and the chain remains the same. Chains that end alike share a \
         signature, and comparisons add them up.",
        "The chains of one kind and class partition the instances of the class: `count`, `shallow_bytes` and \
         `retained_bytes` each sum to the row in `classes`.",
        "`[]` stands for any index and `(any)` for any of several names that lead to little. A star in `text` marks an \
         element that repeats: a linked list of any length is `List.head → Node.next*`. Classes that every program has plenty \
         of do not repeat across classes of the program.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("chain", Type::UInt32, "Number of the row, from 0"),
    required("kind", Type::Utf8, "`reference` or `dominator`"),
    required("class_id", Type::UInt32, "Class of the instances, as in `classes`; the last element of the path"),
    required("class", Type::Utf8, "Its name"),
    required("depth", Type::UInt32, "Elements of the path"),
    required("path", Type::List(&ELEMENT), "The path from the root, which is left out, to the class"),
    required("text", Type::Utf8, "The path as text"),
    required("count", Type::Int64, "Instances at the end of the chain"),
    required("shallow_bytes", Type::Int64, "Sum of their `shallow_bytes`"),
    required(
        "retained_bytes",
        Type::Int64,
        "Sum of `retained_bytes` over those that no other instance of the class dominates: nothing counts twice",
    ),
    required("example_node", Type::UInt32, "`node` of the instance that retains most"),
    SIGNATURE,
    FINGERPRINT,
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// Names of the kinds of chains, by [`ChainRow::kind`].
pub const KINDS: [&str; 2] = ["reference", "dominator"];

const ELEMENT: Type = Type::Struct(ELEMENT_FIELDS);

const ELEMENT_FIELDS: &[ColumnSchema] = &[
    optional("edge", Type::Utf8, "Label of the edge that leads to the element; null if the input gives none"),
    required("class", Type::Utf8, "Class of the element"),
    required("repeats", Type::Boolean, "Whether the element stands for one or more in a row"),
];

/// An element of `path`.
#[must_use]
pub fn element() -> Field {
    table::element(&ELEMENT, false)
}

/// Fields of an element of `path`.
#[must_use]
pub fn element_fields() -> Fields {
    table::fields(ELEMENT_FIELDS)
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
    /// Label of the edge that leads to it: a string id, or one of [`label`].
    pub label: u32,
    /// Class.
    pub class: u32,
    /// 1 where the element replaces several equal ones in a row.
    pub repeats: u32,
}

/// Labels that are not string ids.
pub mod label {
    /// There is no name.
    pub const NONE: u32 = u32::MAX;
    /// An edge with a number.
    pub const INDEX: u32 = u32::MAX - 1;
    /// One of a pair of edges that keep their target alive only together: an entry of a weak map.
    pub const ENTRY: u32 = u32::MAX - 2;
    /// Any of several names.
    pub const ANY: u32 = u32::MAX - 3;
    /// Elements in between are left out.
    pub const CUT: u32 = u32::MAX - 4;
    /// No path that distances follow leads to the node.
    pub const NO_PATH: u32 = u32::MAX - 5;
}
