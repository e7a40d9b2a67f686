//! Texts of strings.

use super::super::model::{Object, ObjectData, Primitive, PrimitiveValues, Value};
use super::index::{Index, Node};
use std::collections::HashMap;

/// Characters shown of a text.
pub const SHOWN: usize = 256;

/// The texts of all strings, by address.
pub(super) fn texts(index: &Index<'_>) -> HashMap<u64, String> {
    let strings = index.nodes.iter().filter_map(|node| match node {
        Node::Object(object) => Some((object.address, text(index, object)?)),
        _ => None,
    });
    strings.collect()
}

/// The text of an instance of java.lang.String: its array of bytes, one per character or, if `coder` says so, two with
/// the lower first; or, on old machines, its array of characters. Only the first characters are returned.
pub(super) fn text(index: &Index<'_>, object: &Object) -> Option<String> {
    const STRING: &str = "java.lang.String";
    let ObjectData::Instance(class, _) = object.data else { return None };
    if index.named(STRING) != Some(class) {
        return None;
    }
    let Some(Value::Object(array)) = index.field(object, STRING, "value") else { return None };
    let ObjectData::PrimitiveArray(kind, PrimitiveValues::Known(values)) = &index.object(array)?.data else {
        return None;
    };
    let wide = matches!(index.field(object, STRING, "coder"), Some(Value::Primitive(Primitive::Byte, 1)));
    let units: Vec<u16> = match (kind, wide) {
        (Primitive::Byte, false) => values.iter().map(|&byte| byte as u16).collect(),
        (Primitive::Byte, true) => values.chunks_exact(2).map(|pair| (pair[0] | pair[1] << 8) as u16).collect(),
        (Primitive::Char, _) => values.iter().map(|&unit| unit as u16).collect(),
        _ => return None,
    };
    Some(String::from_utf16_lossy(&units[..units.len().min(SHOWN)]))
}
