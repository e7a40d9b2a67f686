//! Table `nodes`.

use crate::column::{address, bytes, code, count, edges, flag, from_zero, id, text};
use crate::table::{TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "node of the heap graph",
    order: "`node`",
    columns: &[
        id("node", "Ordinal in the order of the input, from 0"),
        address("id", "Object id or address in the input; null for an added root (Java, .NET)").or_null(),
        text("kind", "Node type, as the format names it"),
        text("class", "Class name"),
        id("class_id", "Class"),
        text("name", "The node's own name; the text of a string; null if none").or_null(),
        bytes("self_bytes", "Size as the input states it"),
        bytes("shallow_bytes", "Shallow size; parts owned by one object count with it"),
        bytes("native_bytes", "Memory outside the managed heap; null if unknown").or_null(),
        bytes("retained_bytes", "Shallow sizes of all nodes that it dominates, itself included"),
        bytes("retained_native_bytes", "`native_bytes` of the same nodes; null too").or_null(),
        edges(
            "distance",
            "Edges on a shortest path from a root, avoiding weak and soft referents if possible; null if \
         unreachable. V8: \
         100,000,000 more if only the runtime leads to it, as in Chrome DevTools",
        )
        .or_null(),
        flag(
            "weakly_reachable",
            "Whether every path from a root has a weak, soft, phantom or final referent; null if \
         these are not essential \
         in the format",
        )
        .or_null(),
        id("dominator", "`node` of the immediate dominator; the root's is itself"),
        flag("reachable", "Whether the root reaches it; false only in formats that keep garbage (`.hprof`)"),
        count("edge_count", "Outgoing edges of every kind"),
        count("retainer_count", "Incoming edges of every kind"),
        code("detachedness", "DOM nodes: 1 attached, 2 detached; 0 unknown"),
        id("trace_node", "Node of the input's allocation tree; null without allocation tracking").or_null(),
        id("script_id", "Script of the source location; null without one").or_null(),
        text("script", "Its URL or path; null too or if unknown").or_null(),
        from_zero("line", "Line; null too").or_null(),
        from_zero("column", "Column; null too").or_null(),
        text("original_file", "Original file, from the source map; null without one").or_null(),
        from_zero("original_line", "Line there; null too").or_null(),
        from_zero("original_column", "Column there; null too").or_null(),
        text("original_name", "Declared name there; null too").or_null(),
        id("duplicate_set", "Set of duplicates, exact or possible; null if in none or not searched").or_null(),
        text(
            "owner",
            "Owner that its `shallow_bytes` count for in `retained_bytes` of `owners`: its own, or that of its nearest \
         dominator with a stronger one; null if `owners` has no row of it, since nothing with a size counts for it",
        )
        .or_null(),
        text("package", "Package of its own code, whatever the rules; null if unknown").or_null(),
    ],
    ..table!("nodes")
};
