//! The `snapshot` object at the head of a file: which fields its rows have, in which order, and how many rows.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a field stands in a row; nothing where this file has no such field.
type Position = Option<usize>;

/// Positions of the fields of a node row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFields {
    /// Numbers in a row.
    pub width: usize,
    /// `type`.
    pub kind: usize,
    /// `name`.
    pub name: usize,
    /// `id`.
    pub id: usize,
    /// `self_size`.
    pub self_size: usize,
    /// `edge_count`.
    pub edge_count: usize,
    /// `trace_node_id`.
    pub trace_node: Position,
    /// `detachedness`.
    pub detachedness: Position,
    /// `native_size` (ArkTS).
    pub native_size: Position,
}

/// Positions of the fields of an edge row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeFields {
    /// Numbers in a row.
    pub width: usize,
    /// `type`.
    pub kind: usize,
    /// `name_or_index`.
    pub name: usize,
    /// `to_node`.
    pub to: usize,
}

/// What the header says, checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Fields of a node.
    pub node: NodeFields,
    /// Fields of an edge.
    pub edge: EdgeFields,
    /// Names of node types, by number.
    pub node_types: Vec<String>,
    /// Names of edge types, by number.
    pub edge_types: Vec<String>,
    /// `location_fields`, `trace_node_fields`, `trace_function_info_fields`, `sample_fields`; empty where missing.
    pub location_fields: Vec<String>,
    /// See [`Self::location_fields`].
    pub trace_node_fields: Vec<String>,
    /// See [`Self::location_fields`].
    pub trace_function_fields: Vec<String>,
    /// See [`Self::location_fields`].
    pub sample_fields: Vec<String>,
    /// Nodes that the file promises.
    pub node_count: u64,
    /// Edges that the file promises.
    pub edge_count: u64,
    /// Ordinal of the root.
    pub root: u64,
}

/// A part of the header that is missing or makes no sense: what should be there, and what is.
pub type Problem = (String, String);

#[derive(Deserialize)]
struct Raw {
    meta: Option<Meta>,
    node_count: Option<Value>,
    edge_count: Option<Value>,
    root_index: Option<Value>,
}

#[derive(Deserialize)]
struct Meta {
    node_fields: Option<Vec<String>>,
    node_types: Option<Vec<Value>>,
    edge_fields: Option<Vec<String>>,
    edge_types: Option<Vec<Value>>,
    #[serde(default)]
    location_fields: Vec<String>,
    #[serde(default)]
    trace_node_fields: Vec<String>,
    #[serde(default)]
    trace_function_info_fields: Vec<String>,
    #[serde(default)]
    sample_fields: Vec<String>,
}

impl Header {
    /// Understands the JSON text of the `snapshot` object.
    ///
    /// # Errors
    /// The first [`Problem`].
    pub fn parse(text: &[u8]) -> Result<Self, Problem> {
        let raw: Raw = serde_json::from_slice(text)
            .map_err(|error| ("a snapshot object as V8 writes it".to_owned(), brief(&error.to_string())))?;
        let meta = present(raw.meta, "snapshot.meta")?;
        let node_fields = present(meta.node_fields, "snapshot.meta.node_fields")?;
        let edge_fields = present(meta.edge_fields, "snapshot.meta.edge_fields")?;
        let node = NodeFields {
            width: node_fields.len(),
            kind: field(&node_fields, "node_fields", "type")?,
            name: field(&node_fields, "node_fields", "name")?,
            id: field(&node_fields, "node_fields", "id")?,
            self_size: field(&node_fields, "node_fields", "self_size")?,
            edge_count: field(&node_fields, "node_fields", "edge_count")?,
            trace_node: position(&node_fields, "trace_node_id"),
            detachedness: position(&node_fields, "detachedness"),
            native_size: position(&node_fields, "native_size"),
        };
        let edge = EdgeFields {
            width: edge_fields.len(),
            kind: field(&edge_fields, "edge_fields", "type")?,
            name: field(&edge_fields, "edge_fields", "name_or_index")?,
            to: field(&edge_fields, "edge_fields", "to_node")?,
        };
        let root_offset = raw.root_index.map_or(Ok(0), |value| count(Some(value), "snapshot.root_index"))?;
        let width = node.width as u64;
        if root_offset % width != 0 {
            let expected = format!("snapshot.root_index to be a multiple of {width}");
            return Err((expected, root_offset.to_string()));
        }
        Ok(Self {
            node_types: enumeration(meta.node_types, node.kind, "snapshot.meta.node_types")?,
            edge_types: enumeration(meta.edge_types, edge.kind, "snapshot.meta.edge_types")?,
            node,
            edge,
            location_fields: meta.location_fields,
            trace_node_fields: meta.trace_node_fields,
            trace_function_fields: meta.trace_function_info_fields,
            sample_fields: meta.sample_fields,
            node_count: count(raw.node_count, "snapshot.node_count")?,
            edge_count: count(raw.edge_count, "snapshot.edge_count")?,
            root: root_offset / width,
        })
    }

    /// Number of the node type with this name, if the file has it.
    #[must_use]
    pub fn node_type(&self, name: &str) -> Option<u8> {
        position(&self.node_types, name).map(|number| number as u8)
    }

    /// Number of the edge type with this name, if the file has it.
    #[must_use]
    pub fn edge_type(&self, name: &str) -> Option<u8> {
        position(&self.edge_types, name).map(|number| number as u8)
    }
}

/// Whether edges of this type are numbered rather than named.
#[must_use]
pub fn is_indexed(edge_type: &str) -> bool {
    matches!(edge_type, "element" | "hidden")
}

/// Position of a name in a list.
pub fn position(names: &[String], name: &str) -> Position {
    names.iter().position(|other| other == name)
}

fn present<T>(value: Option<T>, name: &str) -> Result<T, Problem> {
    value.ok_or_else(|| (name.to_owned(), "nothing".to_owned()))
}

fn field(fields: &[String], list: &str, name: &str) -> Result<usize, Problem> {
    position(fields, name)
        .ok_or_else(|| (format!("\"{name}\" among snapshot.meta.{list}"), brief(&format!("only {fields:?}"))))
}

/// What was found, short enough for a message.
fn brief(text: &str) -> String {
    const MOST: usize = 200;
    if text.chars().count() <= MOST { text.to_owned() } else { text.chars().take(MOST).chain(['…']).collect() }
}

fn count(value: Option<Value>, name: &str) -> Result<u64, Problem> {
    let value = present(value, name)?;
    value.as_u64().ok_or_else(|| (format!("{name} to be an unsigned integer"), brief(&value.to_string())))
}

/// The names of an enumerated field: the list that stands at the field's position among the types.
fn enumeration(types: Option<Vec<Value>>, at: usize, name: &str) -> Result<Vec<String>, Problem> {
    let list = present(types, name)?.into_iter().nth(at);
    let names: Option<Vec<String>> = match list {
        Some(Value::Array(names)) => names.into_iter().map(|name| name.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    match names {
        Some(names) if names.len() <= 256 => Ok(names),
        Some(names) => Err((format!("at most 256 names in {name}"), names.len().to_string())),
        None => Err((format!("a list of names in {name}[{at}]"), "something else".to_owned())),
    }
}
