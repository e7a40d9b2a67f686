//! Table `values`.

use crate::ids::{NodeId, StringId};
use crate::scratch::{Column, Per, StringColumns};
use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "values",
    file: "values.parquet",
    row: "value that a node contains: a field, an element, a text",
    order: "`node`, then `position`",
    runs: Runs::Analyze,
    condition: Some("with `--values`, for formats that have values"),
    notes: &[
        "What `heaplake object` shows. It has about as many rows as `edges`, and more where objects have many numbers.",
        "V8: texts, numbers where they were captured (`captureNumericValue`), and what edges other than weak and shortcut \
         ones lead to. Java: all fields of instances, in the order of the dump, those of superclasses after those of the \
         class; the length of arrays; static fields are in `edges` only. Walks of .NET heaps have no values.",
        "Of an array of references, or a node with many edges, the first 256 are rows; a row of kind `more` says how many \
         others there are. An array of primitive values is a row with its beginning. A text is cut at 120 characters or 160 bytes: \
         `name` in `nodes` has more of it.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("node", Type::UInt32, "Node, as in `nodes`"),
    required("position", Type::UInt32, "Number of the row in the node, from 0"),
    optional("name", Type::Utf8, "Name of the field or edge; null if it has none, as an element"),
    optional("index", Type::UInt32, "Index of an element; null if it is none"),
    required(
        "kind",
        Type::Utf8,
        "`reference`, `null`, `address` (at which the input has no object), `text`, `number` (an object that is one), `boolean`, `char`, `float`, `double`, `byte`, `short`, `int`, `long`, `elements` (the beginning of an array), `length` (of an array), `more` (rows that are left out)",
    ),
    optional(
        "value",
        Type::Utf8,
        "The value as text, that of a referenced text or number, too; null if the input does not have it",
    ),
    optional("to", Type::UInt32, "Referenced node, as in `nodes`; null if it is no reference"),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// Number of values of each node. Only where the table is wanted, as the other columns.
pub const VALUE_DEGREE: Column<u32> = Column::of("value.degree", Per::Node);
/// The values, grouped by node in node order.
pub const VALUE_ROW: Column<ValueRow> = Column::of("value.row", Per::Edge);
/// Beginnings of arrays.
pub const VALUE_TEXTS: StringColumns =
    StringColumns { bytes: Column::new("value.text.bytes"), start: Column::new("value.text.start") };

/// One row, as the readers of formats hand it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ValueRow {
    /// What `kind` says.
    pub bits: u64,
    /// Name, or [`StringId::NONE`].
    pub name: StringId,
    /// Index, or [`NO_INDEX`].
    pub index: u32,
    /// Referenced node, or [`NodeId::NONE`].
    pub to: NodeId,
    /// See [`kind`].
    pub kind: u8,
    /// 0.
    pub unused: [u8; 3],
}

/// No element.
pub const NO_INDEX: u32 = u32::MAX;

/// [`ValueRow::bits`] of a text that the input does not have.
pub const NO_TEXT: u64 = u64::MAX;

/// Kinds of values, and what [`ValueRow::bits`] are. Primitive types have the bits of their values, and the numbers of
/// Java's heap dumps.
pub mod kind {
    /// A reference: the [`StringId`](crate::ids::StringId) of the text that its target is, or [`NO_TEXT`](super::NO_TEXT).
    pub const REFERENCE: u8 = 0;
    /// A text: its `StringId`.
    pub const TEXT: u8 = 1;
    /// A reference to an object that is a number: the `StringId` of its text, or [`NO_TEXT`](super::NO_TEXT).
    pub const NUMBER: u8 = 2;
    /// A reference to nothing.
    pub const NULL: u8 = 3;
    /// 4 to 11.
    pub const BOOLEAN: u8 = 4;
    /// The last primitive type.
    pub const LONG: u8 = 11;
    /// The beginning of an array of primitive values: its text in
    /// [`VALUE_TEXTS`](super::VALUE_TEXTS), or [`NO_TEXT`](super::NO_TEXT).
    pub const ELEMENTS: u8 = 12;
    /// Elements of an array.
    pub const LENGTH: u8 = 13;
    /// Rows that are left out.
    pub const MORE: u8 = 14;
    /// An address without an object.
    pub const ADDRESS: u8 = 15;

    /// Names in the table.
    pub const NAMES: [&str; 16] = [
        "reference",
        "text",
        "number",
        "null",
        "boolean",
        "char",
        "float",
        "double",
        "byte",
        "short",
        "int",
        "long",
        "elements",
        "length",
        "more",
        "address",
    ];
}

/// Elements or edges of a node that have rows.
pub const MOST_OF_A_NODE: u32 = 256;
