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
    order: "`node`, `position`",
    runs: Runs::Analyze,
    condition: Some("with `--values`, for formats that have values"),
    notes: &[
        "The source of `heaplake object`, with about as many rows as `edges`.",
        "V8: texts, captured numbers (`captureNumericValue`), and targets of edges except weak and shortcut ones. \
         Java: all fields of instances, in the order of the dump, superclasses last; lengths of arrays; static fields \
         are in `edges` only. .NET walks have no values.",
        "Arrays of references and nodes with many edges have rows for the first 256 and one of kind `more` with the \
         number of others; arrays of primitive values one row with their beginning. Texts are cut at 120 characters \
         or 160 bytes: `name` in `nodes` has more.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("node", Type::UInt32, "Node"),
    required("position", Type::UInt32, "Row number in the node, from 0"),
    optional("name", Type::Utf8, "Name of the field or edge; null if none"),
    optional("index", Type::UInt32, "Index of an element; null for others"),
    required(
        "kind",
        Type::Utf8,
        "`reference`, `null`, `address` (without an object), `text`, `number` (object), `boolean`, `char`, `float`, \
         `double`, `byte`, `short`, `int`, `long`, `elements` (beginning of an array), `length` (of an array), `more` \
         (omitted rows)",
    ),
    optional("value", Type::Utf8, "Value as text, also of a referenced text or number; null if unknown"),
    optional("to", Type::UInt32, "Referenced node; null for others"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// Number of values of each node; written only with the table, like the columns below.
pub const VALUE_DEGREE: Column<u32> = Column::of("value.degree", Per::Node);
/// The values, grouped by node in node order.
pub const VALUE_ROW: Column<ValueRow> = Column::of("value.row", Per::Edge);
/// Beginnings of arrays.
pub const VALUE_TEXTS: StringColumns =
    StringColumns { bytes: Column::new("value.text.bytes"), start: Column::new("value.text.start") };

/// A row as the readers of formats write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ValueRow {
    /// Depends on `kind`.
    pub bits: u64,
    /// Name, or [`StringId::NONE`].
    pub name: StringId,
    /// Index, or [`NO_INDEX`].
    pub index: u32,
    /// Referenced node, or [`NodeId::NONE`].
    pub to: NodeId,
    /// See [`kind`].
    pub kind: u8,
    /// Padding; 0.
    pub unused: [u8; 3],
}

/// Null sentinel of [`ValueRow::index`].
pub const NO_INDEX: u32 = u32::MAX;

/// [`ValueRow::bits`] of a text that the input lacks.
pub const NO_TEXT: u64 = u64::MAX;

/// Kinds of values, with the meaning of [`ValueRow::bits`]. Primitive types have the bits of their values, and the type
/// codes of Java heap dumps.
pub mod kind {
    /// A reference: the [`StringId`](crate::ids::StringId) of its target if that is a text, or
    /// [`NO_TEXT`](super::NO_TEXT).
    pub const REFERENCE: u8 = 0;
    /// A text: its `StringId`.
    pub const TEXT: u8 = 1;
    /// A reference to a number object: the `StringId` of its text, or [`NO_TEXT`](super::NO_TEXT).
    pub const NUMBER: u8 = 2;
    /// The null reference.
    pub const NULL: u8 = 3;
    /// The first primitive type; the codes go up to [`LONG`].
    pub const BOOLEAN: u8 = 4;
    /// The last primitive type.
    pub const LONG: u8 = 11;
    /// The beginning of an array of primitive values: its text in
    /// [`VALUE_TEXTS`](super::VALUE_TEXTS), or [`NO_TEXT`](super::NO_TEXT).
    pub const ELEMENTS: u8 = 12;
    /// Elements of an array.
    pub const LENGTH: u8 = 13;
    /// Number of omitted rows.
    pub const MORE: u8 = 14;
    /// An address without an object in the input.
    pub const ADDRESS: u8 = 15;

    /// Names in the table, by kind.
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

/// Most rows of elements or edges per node.
pub const MOST_OF_A_NODE: u32 = 256;
