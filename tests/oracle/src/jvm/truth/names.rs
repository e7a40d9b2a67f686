//! Names of classes and texts of strings.

use super::super::model::{Object, ObjectData, Primitive, PrimitiveValues, Value};
use super::{Index, Node};
use std::collections::HashMap;

/// Characters of a text that are shown.
pub const SHOWN: usize = 256;

/// The texts of all strings, by address.
pub(super) fn texts(index: &Index<'_>) -> HashMap<u64, String> {
    let strings = index.nodes.iter().filter_map(|node| match node {
        Node::Object(object) => Some((object.address, text(index, object)?)),
        _ => None,
    });
    strings.collect()
}

/// The text of an instance of java.lang.String itself: its array of bytes, one for each character or, where `coder` says
/// so, two with the lower first; or, on old machines, its array of characters. Only the first characters are given.
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

/// Text in modified UTF-8, as the file has it: surrogates one by one, and the zero in two bytes.
pub(super) fn modified_utf8(bytes: &[u8]) -> String {
    let mut units: Vec<u16> = Vec::new();
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        let follow = |n: usize| tail.get(n).map_or(0, |&byte| u16::from(byte & 0x3f));
        let (unit, length) = match first {
            0xc0..=0xdf => (u16::from(first & 0x1f) << 6 | follow(0), 2),
            0xe0..=0xef => (u16::from(first & 0x0f) << 12 | follow(0) << 6 | follow(1), 3),
            _ => (u16::from(*first), 1),
        };
        units.push(unit);
        rest = rest.get(length..).unwrap_or_default();
    }
    String::from_utf16_lossy(&units)
}

/// `java/lang/String` as `java.lang.String`, `[[I` as `int[][]`.
pub(super) fn in_java(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    let element = match (dimensions, element.strip_prefix('L').and_then(|name| name.strip_suffix(';'))) {
        (0, _) => element.to_owned(),
        (_, Some(name)) => name.to_owned(),
        (_, None) => {
            let kind = Primitive::ALL.into_iter().find(|kind| element == kind.letter().to_string());
            kind.map_or_else(|| element.to_owned(), |kind| kind.name().to_owned())
        }
    };
    element.replace('/', ".") + &"[]".repeat(dimensions)
}
