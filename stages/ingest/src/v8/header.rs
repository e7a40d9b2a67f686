//! The `snapshot` object at the head of a file: fields of the rows, their order, and numbers of rows.

use crate::values::cut;
use heaplake_input::bytes::Bytes;
use heaplake_kit::{StageError, text};
use heaplake_schemas::ids::MAX_NODES;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Advice of errors in a snapshot.
pub(crate) const HINT: &str = "the file is damaged or incomplete: write or copy the snapshot again, or give --salvage to analyse what \
                               can be read";

/// Length limit of the header, bytes.
const MOST_HEADER: usize = 4 << 20;

/// Position of a field in a row; `None` if the file lacks the field.
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

/// Contents of the header, checked.
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
    /// Number of nodes by the header.
    pub node_count: u64,
    /// Number of edges by the header.
    pub edge_count: u64,
    /// Ordinal of the root.
    pub root: u64,
    /// Bytes outside the heap that belong to no node, if the file has them.
    pub extra_native_bytes: u64,
}

/// Node types of V8, in order: a type has four bits. Node.js 8 to 11 writes symbols and bigints as types that its list
/// of names lacks.
const V8_NODE_TYPES: [&str; 15] = [
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

/// Number of types in four bits.
const NODE_TYPES: usize = 16;

/// An error of the header: expected and found.
pub type Problem = (String, String);

#[derive(Deserialize)]
struct Raw {
    meta: Option<Meta>,
    node_count: Option<Value>,
    edge_count: Option<Value>,
    root_index: Option<Value>,
    extra_native_bytes: Option<Value>,
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
    /// Parses the JSON text of the `snapshot` object.
    pub fn parse(text: &[u8]) -> Result<Self, Problem> {
        let raw: Raw = serde_json::from_slice(text)
            .map_err(|error| ("a snapshot object as V8 writes it".to_owned(), brief(&error.to_string())))?;
        let meta = present(raw.meta, "snapshot.meta")?;
        let node_fields = present(meta.node_fields, "snapshot.meta.node_fields")?;
        let edge_fields = present(meta.edge_fields, "snapshot.meta.edge_fields")?;
        if let Some(problem) = of_2012(&node_fields) {
            return Err(problem);
        }
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
            extra_native_bytes: raw.extra_native_bytes.and_then(|bytes| bytes.as_u64()).unwrap_or(0),
        })
    }

    /// Limit of node types: those that the file names, and at least V8's.
    pub fn most_node_types(&self) -> usize {
        self.node_types.len().max(NODE_TYPES)
    }

    /// Extends the names of node types to `count`, with V8's names if the file's names begin as V8's.
    pub fn name_node_types(&mut self, count: usize) {
        let is_v8 = V8_NODE_TYPES.iter().zip(&self.node_types).all(|(known, name)| known == name);
        for number in self.node_types.len()..count {
            let known = V8_NODE_TYPES.get(number).filter(|_| is_v8);
            let name = known.map_or_else(|| format!("(unknown type {number})"), |&name| name.to_owned());
            self.node_types.push(name);
        }
    }

    /// Extends the names to `types`, which `nodes` nodes need; returns the remark about it.
    pub fn remark_types(&mut self, nodes: u64, types: usize) -> String {
        let named = self.node_types.len();
        self.name_node_types(types);
        let (nodes, names) = (text::count(nodes), self.node_types[named..].join(", "));
        format!(
            "nodes of types beyond the file's list of names, which Node.js 8 to 11 leaves out of it: {nodes} ({names})"
        )
    }

    /// Returns the number of a node type by name.
    pub fn node_type(&self, name: &str) -> Option<u8> {
        position(&self.node_types, name).map(|number| number as u8)
    }

    /// Returns the number of an edge type by name.
    pub fn edge_type(&self, name: &str) -> Option<u8> {
        position(&self.edge_types, name).map(|number| number as u8)
    }
}

/// Reads the object of the section `snapshot`.
///
/// # Errors
/// [`StageError::Input`] if it is not V8's, or its counts exceed the limits.
pub fn read(scanner: &mut Bytes<'_>) -> Result<Header, StageError> {
    scanner.peek_token()?;
    let offset = scanner.offset();
    let mut text = Vec::new();
    let mut too_long = false;
    scanner.raw_value(|piece| {
        too_long |= text.len() + piece.len() > MOST_HEADER;
        if !too_long {
            text.extend_from_slice(piece);
        }
        Ok(())
    })?;
    if too_long {
        return Err(scanner.error(offset, "a snapshot object of some kilobytes", "a huge one".to_owned()));
    }
    let header = Header::parse(&text).map_err(|(expected, found)| {
        let hint = advice(&found).unwrap_or(HINT);
        StageError::input(scanner.name(), offset, expected, found, hint)
    })?;
    if header.node_count > MAX_NODES {
        let expected = format!("snapshot.node_count of at most {MAX_NODES}");
        return Err(scanner.error(offset, &expected, header.node_count.to_string()));
    }
    Ok(header)
}

/// Name of V8's layout before 2013.
const OF_2012: &str = "the layout of 2012 and before";

/// Returns the advice for an undamaged header of an old layout.
fn advice(found: &str) -> Option<&'static str> {
    let old = "take the snapshot again with a current version of Chrome or Node.js";
    found.starts_with(OF_2012).then_some(old)
}

/// Detects the layout of V8 before 2013, with edge indexes and retained sizes in node rows.
fn of_2012(node_fields: &[String]) -> Option<Problem> {
    let old = ["edges_index", "children_count"].into_iter().find(|old| position(node_fields, old).is_some())?;
    position(node_fields, "edge_count").is_none().then(|| {
        let expected = "\"edge_count\" among snapshot.meta.node_fields, as current versions of V8 write";
        (expected.to_owned(), format!("{OF_2012} (\"{old}\")"))
    })
}

/// Whether edges of this type have numbers instead of names.
pub fn is_indexed(edge_type: &str) -> bool {
    matches!(edge_type, "element" | "hidden")
}

/// Returns the position of a name in a list.
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

/// Shortens a text for a message.
fn brief(text: &str) -> String {
    cut(text, 200)
}

fn count(value: Option<Value>, name: &str) -> Result<u64, Problem> {
    let value = present(value, name)?;
    value.as_u64().ok_or_else(|| (format!("{name} to be an unsigned integer"), brief(&value.to_string())))
}

/// Returns the names of an enumerated field: the list at the field's position among the types.
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
