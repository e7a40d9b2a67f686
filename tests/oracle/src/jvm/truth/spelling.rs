//! Converts names and texts of a dump to Java's notation.

use crate::jvm::model::Primitive;

/// Decodes modified UTF-8: surrogates one by one, and zero in two bytes.
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
