//! Reads a well-formed snapshot.

use heaplake_oracle::{Edge, Fields, Location, Node, OracleString, Snapshot};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::Value;

#[derive(serde::Deserialize)]
struct File {
    snapshot: Header,
    nodes: Vec<u64>,
    edges: Vec<u64>,
    locations: Vec<u64>,
    strings: Vec<Text>,
}

#[derive(serde::Deserialize)]
struct Header {
    meta: Meta,
    root_index: Option<usize>,
}

/// Names of fields, and for the field `type` the names of its values.
#[derive(serde::Deserialize)]
struct Meta {
    node_fields: Vec<String>,
    node_types: Vec<Value>,
    edge_fields: Vec<String>,
    edge_types: Vec<Value>,
    location_fields: Vec<String>,
}

/// A string that may have lone surrogates, which the parser passes on as WTF-8 if asked for bytes.
struct Text(OracleString);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Text;

            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("a string")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text(OracleString::from_wtf8(bytes)))
            }
        }
        from.deserialize_bytes(Bytes)
    }
}

/// Reads a snapshot, or panics.
pub(crate) fn snapshot(bytes: &[u8]) -> Snapshot {
    let file: File = serde_json::from_slice(bytes).expect("a snapshot");
    let meta = &file.snapshot.meta;
    let width = meta.node_fields.len();
    let has = |name: &str| meta.node_fields.iter().any(|field| field == name);
    let mut snapshot = Snapshot::new();
    snapshot.node_types = names(&meta.node_fields, &meta.node_types);
    snapshot.edge_types = names(&meta.edge_fields, &meta.edge_types);
    snapshot.fields = Fields {
        trace_node_id: has("trace_node_id"),
        detachedness: has("detachedness"),
        native_size: has("native_size"),
    };
    snapshot.root_index = file.snapshot.root_index.map(|root| root / width);
    let mut edges = rows(&file.edges, &meta.edge_fields).map(|row| Edge {
        kind: row("type") as usize,
        name_or_index: row("name_or_index"),
        to: row("to_node") as usize / width,
    });
    let nodes = rows(&file.nodes, &meta.node_fields).map(|row| Node {
        kind: row("type") as usize,
        name: row("name") as usize,
        id: row("id"),
        self_size: row("self_size"),
        edges: edges.by_ref().take(row("edge_count") as usize).collect(),
        trace_node_id: row("trace_node_id"),
        detachedness: row("detachedness") as u8,
        native_size: row("native_size"),
    });
    snapshot.nodes = nodes.collect();
    let locations = rows(&file.locations, &meta.location_fields).map(|row| Location {
        node: row("object_index") as usize / width,
        script_id: row("script_id"),
        line: row("line"),
        column: row("column"),
    });
    snapshot.locations = locations.collect();
    snapshot.strings = file.strings.into_iter().map(|text| text.0).collect();
    snapshot
}

fn names(fields: &[String], types: &[Value]) -> Vec<String> {
    let column = fields.iter().position(|field| field == "type").expect("a field for the type");
    let names = types[column].as_array().expect("names of types").iter();
    names.map(|name| name.as_str().expect("a name").to_owned()).collect()
}

/// The rows of a table, each a function from a field's name to its value; 0 for absent fields.
fn rows<'a>(numbers: &'a [u64], fields: &'a [String]) -> impl Iterator<Item = impl Fn(&str) -> u64 + 'a> {
    numbers
        .chunks_exact(fields.len())
        .map(move |row| move |name: &str| fields.iter().position(|field| field == name).map_or(0, |column| row[column]))
}
