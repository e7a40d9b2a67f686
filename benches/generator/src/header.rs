//! The header of a snapshot.

use crate::sink::{EDGE_TYPES, NODE_TYPES};

/// The fields of nodes while allocations are tracked.
pub const NODE_FIELDS: [&str; 7] = ["type", "name", "id", "self_size", "edge_count", "trace_node_id", "detachedness"];

/// The beginning of a file, up to its nodes. These have a type, a name, and further fields with numbers.
pub fn header(node_fields: &[&str], [nodes, edges, functions]: [u64; 3]) -> String {
    let quoted = |names: &[&str]| format!("[\"{}\"]", names.join("\",\""));
    let numbers = vec!["\"number\""; node_fields.len() - 2].join(",");
    format!(
        concat!(
            r#"{{"snapshot":{{"meta":{{"node_fields":{},"node_types":[{},"string",{}],"#,
            r#""edge_fields":["type","name_or_index","to_node"],"edge_types":[{},"string_or_number","node"],"#,
            r#""trace_function_info_fields":["function_id","name","script_name","script_id","line","column"],"#,
            r#""trace_node_fields":["id","function_info_index","count","size","children"],"#,
            r#""sample_fields":["timestamp_us","last_assigned_id"],"#,
            r#""location_fields":["object_index","script_id","line","column"]}},"#,
            r#""node_count":{},"edge_count":{},"trace_function_count":{},"extra_native_bytes":0}},"#,
            "\n",
        ),
        quoted(node_fields),
        quoted(&NODE_TYPES),
        numbers,
        quoted(&EDGE_TYPES),
        nodes,
        edges,
        functions,
    )
}
