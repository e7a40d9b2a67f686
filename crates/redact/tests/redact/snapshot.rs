//! Small V8 snapshots.

use serde_json::{Value, json};

/// Node types, in the order of V8.
const NODE_TYPES: [&str; 15] = [
    "hidden",
    "array",
    "string",
    "object",
    "code",
    "closure",
    "regexp",
    "number",
    "native",
    "synthetic",
    "concatenated string",
    "sliced string",
    "symbol",
    "bigint",
    "object shape",
];
const EDGE_TYPES: [&str; 7] = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"];

/// A snapshot under construction.
#[derive(Default)]
pub(crate) struct Snapshot {
    strings: Vec<String>,
    /// Type, name, size.
    nodes: Vec<(usize, usize, u64)>,
    /// Type and name.
    edges: Vec<(usize, usize)>,
}

impl Snapshot {
    fn string(&mut self, text: &str) -> usize {
        self.strings.iter().position(|other| other == text).unwrap_or_else(|| {
            self.strings.push(text.to_owned());
            self.strings.len() - 1
        })
    }

    /// Adds a node; returns its number.
    pub(crate) fn node(&mut self, kind: &str, name: &str) {
        let kind = NODE_TYPES.iter().position(|other| *other == kind).unwrap();
        let name = self.string(name);
        self.nodes.push((kind, name, 16 + 8 * (name as u64 % 5)));
    }

    /// Adds an edge from the root to the last node.
    pub(crate) fn edge(&mut self, kind: &str, name: &str) {
        let kind = EDGE_TYPES.iter().position(|other| *other == kind).unwrap();
        let name = self.string(name);
        self.edges.push((kind, name));
    }

    /// Adds a string without a use.
    pub(crate) fn unused(&mut self, text: &str) {
        self.string(text);
    }

    /// The file, with `more` members before the strings.
    pub(crate) fn file(&self, more: &[(&str, Value)]) -> Vec<u8> {
        let count = self.edges.len();
        let mut nodes = Vec::new();
        for (at, &(kind, name, bytes)) in self.nodes.iter().enumerate() {
            let edges = if at == 0 { count } else { 0 };
            nodes.extend([kind as u64, name as u64, 2 * at as u64 + 1, bytes, edges as u64]);
        }
        let last = 5 * (self.nodes.len() - 1);
        let edges: Vec<usize> = self.edges.iter().flat_map(|&(kind, name)| [kind, name, last]).collect();
        let meta = json!({
            "node_fields": ["type", "name", "id", "self_size", "edge_count"],
            "node_types": [NODE_TYPES, "string", "number", "number", "number"],
            "edge_fields": ["type", "name_or_index", "to_node"],
            "edge_types": [EDGE_TYPES, "string_or_number", "node"],
            "trace_function_info_fields": ["function_id", "name", "script_name", "script_id", "line", "column"],
        });
        let header = json!({ "meta": meta, "node_count": self.nodes.len(), "edge_count": count });
        let mut text = format!("{{\"snapshot\":{header},\n\"nodes\":{},\n\"edges\":{}", json!(nodes), json!(edges));
        for (key, value) in more {
            text += &format!(",\n\"{key}\":{value}");
        }
        text += &format!(",\n\"strings\":{}}}", json!(self.strings));
        text.into_bytes()
    }
}

/// A parsed snapshot.
pub(crate) struct Parsed {
    value: Value,
}

impl Parsed {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self { value: serde_json::from_slice(bytes).unwrap() }
    }

    pub(crate) fn numbers(&self, section: &str) -> Vec<i64> {
        self.value[section].as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect()
    }

    pub(crate) fn strings(&self) -> Vec<&str> {
        self.value["strings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
    }

    fn meta(&self, list: &str) -> Vec<String> {
        let list = self.value["snapshot"]["meta"][list].as_array().unwrap();
        let list = list.first().and_then(Value::as_array).unwrap_or(list);
        list.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    }

    /// Rows of nodes: type, name, other numbers.
    pub(crate) fn nodes(&self) -> Vec<(String, &str, Vec<i64>)> {
        let (fields, types) = (self.meta("node_fields"), self.meta("node_types"));
        let name = fields.iter().position(|field| field == "name").unwrap();
        let strings = self.strings();
        let row = |row: &[i64]| {
            let others = row.iter().enumerate().filter(|(at, _)| *at != name).map(|(_, number)| *number);
            let kind = types.get(row[0] as usize).map_or("unnamed", String::as_str);
            (kind.to_owned(), strings[row[name] as usize], others.collect())
        };
        self.numbers("nodes").chunks_exact(fields.len()).map(row).collect()
    }

    /// Rows of edges: type and name, if it has one.
    pub(crate) fn edges(&self) -> Vec<(String, Option<&str>)> {
        let types = self.meta("edge_types");
        let strings = self.strings();
        let row = |row: &[i64]| {
            let kind = &types[row[0] as usize];
            let is_named = kind != "element" && kind != "hidden";
            (kind.clone(), is_named.then(|| strings[row[1] as usize]))
        };
        self.numbers("edges").chunks_exact(3).map(row).collect()
    }
}
