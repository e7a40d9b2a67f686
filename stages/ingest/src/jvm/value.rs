//! Type codes of values in HPROF.

/// A reference.
pub(crate) const OBJECT: u8 = 2;
/// `char`.
pub(crate) const CHAR: u8 = 5;
/// `byte`.
pub(crate) const BYTE: u8 = 8;
/// `int`.
pub(crate) const INT: u8 = 10;
/// `short`.
pub(crate) const SHORT: u8 = 9;
/// `long`.
pub(crate) const LONG: u8 = 11;

/// Names of the primitive types by code; empty for other codes.
const NAMES: [&str; 12] = ["", "", "", "", "boolean", "char", "float", "double", "byte", "short", "int", "long"];

/// Bytes of the primitive types by code; 0 for other codes.
pub(crate) const WIDTHS: [u8; 16] = [0, 0, 0, 0, 1, 2, 4, 8, 1, 2, 4, 8, 0, 0, 0, 0];

/// Returns the name of a primitive type.
pub(crate) fn name(kind: u8) -> Option<&'static str> {
    NAMES.get(kind as usize).copied().filter(|name| !name.is_empty())
}

/// Returns the bytes of a value: in the dump and, except for references, in memory. `id` is the width of a reference.
pub(crate) const fn width(kind: u8, id: usize) -> Option<usize> {
    match kind {
        OBJECT => Some(id),
        4..=11 => Some(WIDTHS[kind as usize] as usize),
        _ => None,
    }
}
