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
    required("node", Type::UInt32, "Ordinal in the order of the input, from 0"),
    optional("id", Type::UInt64, "Object id or address in the input; null for an added root (Java, .NET)"),
    required("kind", Type::Utf8, "Node type, as the format names it"),
    required("class", Type::Utf8, "Class name"),
    required("class_id", Type::UInt32, "Class"),
    optional("name", Type::Utf8, "The node's own name; the text of a string; null if none"),
    required("self_bytes", Type::Int64, "Size as the input states it"),
    required("shallow_bytes", Type::Int64, "Shallow size; parts owned by one object count with it"),
    optional("native_bytes", Type::Int64, "Memory outside the managed heap; null if unknown"),
    required("retained_bytes", Type::Int64, "Shallow sizes of all nodes that it dominates, itself included"),
    optional("retained_native_bytes", Type::Int64, "`native_bytes` of the same nodes; null too"),
    optional(
        "distance",
        Type::Int32,
        "Edges on a shortest path from a root, avoiding weak and soft referents if possible; null if unreachable. V8: \
         100,000,000 more if only the runtime leads to it, as in Chrome DevTools",
    ),
    optional(
        "weakly_reachable",
        Type::Boolean,
        "Whether every path from a root has a weak, soft, phantom or final referent; null if these are not essential \
         in the format",
    ),
    required("dominator", Type::UInt32, "`node` of the immediate dominator; the root's is itself"),
    required(
        "reachable",
        Type::Boolean,
        "Whether the root reaches it; false only in formats that keep garbage (`.hprof`)",
    ),
    required("edge_count", Type::Int64, "Outgoing edges of every kind"),
    required("retainer_count", Type::Int64, "Incoming edges of every kind"),
    required("detachedness", Type::UInt8, "DOM nodes: 1 attached, 2 detached; 0 unknown"),
    optional("trace_node", Type::UInt32, "Node of the input's allocation tree; null without allocation tracking"),
    optional("script_id", Type::UInt32, "Script of the source location; null without one"),
    optional("script", Type::Utf8, "Its URL or path; null too or if unknown"),
    optional("line", Type::UInt32, "Line; null too"),
    optional("column", Type::UInt32, "Column; null too"),
    optional("original_file", Type::Utf8, "Original file, from the source map; null without one"),
    optional("original_line", Type::UInt32, "Line there; null too"),
    optional("original_column", Type::UInt32, "Column there; null too"),
    optional("original_name", Type::Utf8, "Declared name there; null too"),
    optional("duplicate_set", Type::UInt32, "Set of duplicates, exact or possible; null if in none or not searched"),
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}
