//! Table `nodes`.

use crate::table::{ColumnSchema, Runs, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "nodes",
    file: "nodes.parquet",
    row: "node of the heap graph",
    order: "`node`",
    runs: Runs::Analyze,
    condition: None,
    notes: &[],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("node", Type::UInt32, "Ordinal of the node in the order of the input, from 0"),
    optional(
        "id",
        Type::UInt64,
        "The object's id or address, as the input states it; null for a root that the input does not have (Java, .NET)",
    ),
    required("kind", Type::Utf8, "Type of the node, as the format names it"),
    required("class", Type::Utf8, "Name of the class"),
    required("class_id", Type::UInt32, "Class, as in `classes`"),
    optional("name", Type::Utf8, "The node's own name; of a string, its text; null if it has none"),
    required("self_bytes", Type::Int64, "Size that the input states, bytes"),
    required(
        "shallow_bytes",
        Type::Int64,
        "Shallow size, bytes; parts that only one object owns count with that object",
    ),
    optional(
        "native_bytes",
        Type::Int64,
        "Memory outside the managed heap that the node holds, bytes; null if the input does not tell",
    ),
    required(
        "retained_bytes",
        Type::Int64,
        "Retained size, bytes: the shallow sizes of all nodes that this one dominates, itself included",
    ),
    optional(
        "retained_native_bytes",
        Type::Int64,
        "`native_bytes` of all nodes that this one dominates, itself included; null likewise",
    ),
    optional(
        "distance",
        Type::Int32,
        "Edges on a shortest path from a root, without weak and soft referents where such a path exists; null if no path leads to the node. V8: 100,000,000 more where only the runtime leads to the node and no root of the program does, as Chrome DevTools counts; shown to people as `system`",
    ),
    optional(
        "weakly_reachable",
        Type::Boolean,
        "Whether each path from a root to the node goes through a weak, soft, phantom or final referent; null in formats where such references hold nothing",
    ),
    required("dominator", Type::UInt32, "`node` of the immediate dominator; the root's is the root itself"),
    required(
        "reachable",
        Type::Boolean,
        "Whether the root reaches the node; false only in formats that keep garbage (`.hprof`)",
    ),
    required("edge_count", Type::Int64, "Outgoing edges of every kind"),
    required("retainer_count", Type::Int64, "Incoming edges of every kind"),
    required("detachedness", Type::UInt8, "Of a DOM node: 1 attached, 2 detached; 0 unknown"),
    optional(
        "trace_node",
        Type::UInt32,
        "Node of the allocation tree in the input; null if allocations were not tracked",
    ),
    optional("script_id", Type::UInt32, "Source location: the script, as in `scripts`; null where the input has none"),
    optional("script", Type::Utf8, "URL or path of that script; null likewise, and where the input does not tell"),
    optional("line", Type::UInt32, "Source location: line, from 0; null likewise"),
    optional("column", Type::UInt32, "Source location: column, from 0; null likewise"),
    optional(
        "original_file",
        Type::Utf8,
        "File from which a source map says that the script was made; null without one, or if the map does not tell",
    ),
    optional("original_line", Type::UInt32, "Line in that file, from 0; null likewise"),
    optional("original_column", Type::UInt32, "Column in the line, from 0; null likewise"),
    optional("original_name", Type::Utf8, "Name of what is declared there; null likewise"),
    optional(
        "duplicate_set",
        Type::UInt32,
        "Set of duplicates, as in `duplicate_sets`, of either status; null if the node is in none or duplicates were not looked for",
    ),
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}
