//! Table `values`.

use crate::column;
use crate::ids::{NodeId, StringId};
use crate::row::rows;
use crate::scratch::STRINGS;
use crate::scratch_column::{Column, Per, StringColumns};
use crate::table::{TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "value that a node contains: a field, an element, a text",
    order: "`node`, `position`",
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
    columns: ValueRow::SCHEMAS,
    ..table!("values")
};

/// Number of values of each node; written only with the table, like the columns below.
pub const VALUE_DEGREE: Column<u32> = Column::of("value.degree", Per::Node);
/// The values, grouped by node in node order.
pub const VALUE_ROW: Column<ValueRow> = ValueRow::ROWS;
/// Beginnings of arrays.
pub const VALUE_TEXTS: StringColumns =
    StringColumns { bytes: Column::new("value.text.bytes"), start: Column::new("value.text.start") };

rows! {
    TABLE from Column::of("value.row", Per::Edge);
    /// A row as the readers of formats write it.
    #[derive(Eq)]
    pub struct ValueRow {
        /// Name, or [`StringId::NONE`].
        name: StringId
            => computed(column::id("node", "Node"))
            | computed(column::from_zero("position", "Row number in the node, from 0"))
            | also(text("name", |row: &ValueRow| row.name.0, STRINGS, "Name of the field or edge; null if none").or_null());
        /// Index, or [`NO_INDEX`].
        index: u32 => from_zero("Index of an element; null for others").or_null();
        /// See [`kind`].
        kind: u8
            => also(name("kind", |row: &ValueRow| row.kind.into(), &kind::NAMES, "`reference`, `null`, `address` \
                 (without an object), `text`, `number` (object), `boolean`, `char`, `float`, `double`, `byte`, \
                 `short`, `int`, `long`, `elements` (beginning of an array), `length` (of an array), `more` \
                 (omitted rows)"));
        unused: [u8; 3];
        /// Referenced node, or [`NodeId::NONE`].
        to: NodeId
            => computed(column::text("value", "Value as text, also of a referenced text or number; null if unknown")
                .or_null())
            | also(id("to", |row: &ValueRow| row.to.0, "Referenced node; null for others").or_null());
        /// Depends on `kind`.
        bits: u64;
    }
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
