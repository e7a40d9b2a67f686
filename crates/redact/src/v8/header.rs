//! The `snapshot` object at the head of a file: where rows have names.

use super::roles::Roles;
use heaplake_input::bytes::Bytes;
use heaplake_kit::StageError;
use serde_json::Value;

/// Advice of errors.
pub const HINT: &str = "the file is damaged or incomplete: write or copy the snapshot again";

/// Length limit of the header, bytes.
const MOST: usize = 4 << 20;

/// Positions of the names in rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Text of the object, redacted.
    pub text: Vec<u8>,
    /// Numbers of a node row, and the positions of type and name.
    pub node: (usize, usize, usize),
    /// Numbers of an edge row, and the positions of type and name.
    pub edge: (usize, usize, usize),
    /// Roles of the names.
    pub roles: Roles,
    /// Numbers of a row of `trace_function_infos`, and the positions of names.
    pub function: (usize, Vec<usize>),
    /// Texts masked in the header.
    pub masked: Vec<u64>,
}

impl Header {
    /// Reads the header.
    ///
    /// # Errors
    /// [`StageError::Input`] if it is not V8's.
    pub(super) fn read(scanner: &mut Bytes<'_>) -> Result<Self, StageError> {
        scanner.peek_token()?;
        let offset = scanner.offset();
        let mut text = Vec::new();
        let mut is_long = false;
        scanner.raw_value(|piece| {
            is_long |= text.len() + piece.len() > MOST;
            if !is_long {
                text.extend_from_slice(piece);
            }
            Ok(())
        })?;
        if is_long {
            return Err(scanner.error(offset, "a snapshot object of some kilobytes", "a huge one"));
        }
        Self::parse(&text).map_err(|(expected, found)| StageError::input(scanner.name(), offset, expected, found, HINT))
    }

    fn parse(text: &[u8]) -> Result<Self, (String, String)> {
        let mut value: Value = serde_json::from_slice(text)
            .map_err(|error| ("a snapshot object as V8 writes it".to_owned(), error.to_string()))?;
        let meta = value.get("meta").cloned().unwrap_or_default();
        let node_fields = names(&meta, "node_fields")?;
        let edge_fields = names(&meta, "edge_fields")?;
        let node_kind = position(&node_fields, "type", "node_fields")?;
        let edge_kind = position(&edge_fields, "type", "edge_fields")?;
        let node_types = kinds(&meta, "node_types", node_kind)?;
        let edge_types = kinds(&meta, "edge_types", edge_kind)?;
        let functions = names(&meta, "trace_function_info_fields").unwrap_or_default();
        let of_functions = functions.iter().enumerate().filter(|(_, name)| name.ends_with("name")).map(|(at, _)| at);
        let mut masked = Vec::new();
        if let Some(object) = value.as_object_mut() {
            object.iter_mut().filter(|(key, _)| *key != "meta").for_each(|(_, value)| mask(value, &mut masked));
        }
        let masked_text = serde_json::to_vec(&value).map_err(|error| (String::new(), error.to_string()))?;
        Ok(Self {
            text: if masked.is_empty() { text.to_vec() } else { masked_text },
            node: (node_fields.len(), node_kind, position(&node_fields, "name", "node_fields")?),
            edge: (edge_fields.len(), edge_kind, position(&edge_fields, "name_or_index", "edge_fields")?),
            roles: Roles::of(&node_types, &edge_types),
            function: (functions.len(), of_functions.collect()),
            masked,
        })
    }
}

/// Masks the texts of a value; appends their lengths.
fn mask(value: &mut Value, masked: &mut Vec<u64>) {
    match value {
        Value::String(text) => {
            masked.push(text.len() as u64);
            *text = "x".repeat(text.chars().count());
        }
        Value::Array(values) => values.iter_mut().for_each(|value| mask(value, masked)),
        Value::Object(object) => object.iter_mut().for_each(|(_, value)| mask(value, masked)),
        _ => {}
    }
}

fn names(meta: &Value, list: &str) -> Result<Vec<String>, (String, String)> {
    let missing = || (format!("snapshot.meta.{list}, a list of names"), "something else".to_owned());
    let values = meta.get(list).and_then(Value::as_array).ok_or_else(missing)?;
    values.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(missing)).collect()
}

fn position(names: &[String], name: &str, list: &str) -> Result<usize, (String, String)> {
    let missing = || (format!("\"{name}\" among snapshot.meta.{list}"), "no such name".to_owned());
    names.iter().position(|other| other == name).ok_or_else(missing)
}

/// Returns the names of an enumerated field.
fn kinds(meta: &Value, list: &str, at: usize) -> Result<Vec<String>, (String, String)> {
    let missing = || (format!("a list of names in snapshot.meta.{list}[{at}]"), "something else".to_owned());
    let values = meta.get(list).and_then(|types| types.get(at)).and_then(Value::as_array).ok_or_else(missing)?;
    values.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(missing)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::roles::Role;
    use super::*;

    const HEADER: &str = r#"{"title":"of bob","meta":{"node_fields":["type","name","id"],"node_types":[["object","string","number"],"string"],
        "edge_fields":["type","name_or_index","to_node"],"edge_types":[["property","element"],"string_or_number"],
        "trace_function_info_fields":["function_id","name","script_name","line"]},"node_count":1}"#;

    #[test]
    fn roles_follow_the_lists_of_types() {
        let header = Header::parse(HEADER.as_bytes()).unwrap();
        assert_eq!(
            [0, 1, 2, 3].map(|kind| header.roles.of_node(kind)),
            [Role::Name, Role::Text, Role::Value, Role::Name]
        );
        assert_eq!([0, 1, 2].map(|kind| header.roles.is_named(kind)), [true, false, true]);
        assert_eq!((header.node, header.edge, header.function.clone()), ((3, 0, 1), (3, 0, 1), (4, vec![1, 2])));
        let text = String::from_utf8(header.text).unwrap();
        assert!(!text.contains("bob") && header.masked == [6], "{text}");
    }

    #[test]
    fn other_objects_are_refused() {
        for text in ["{}", "[]", "{\"meta\":{\"node_fields\":[\"type\"]}}", "{", "{\"meta\":{\"node_fields\":[1]}}"] {
            assert!(Header::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
