//! Parts of many kinds of blocks: strings, heap numbers, JavaScript arrays.

use crate::names as n;
use crate::shared::{self, array_size, class, instance_of, map, slot};
use crate::sink::EdgeType::{Element, Internal};
use crate::sink::{NodeType, Sink};

/// Self size of a string of `length` one-byte characters.
pub(crate) const fn string_size(length: u64) -> u64 {
    16 + length.div_ceil(8) * 8
}

#[inline]
pub(super) fn string<S: Sink>(name: u64, self_size: u64, out: &mut S) {
    out.node(NodeType::String, name, self_size);
    out.edge(Internal, n::MAP, map::STRING);
}

/// A heap number with its value captured.
#[inline]
pub(super) fn number<S: Sink>(draw: u64, out: &mut S) {
    out.node(NodeType::Number, n::HEAP_NUMBER, NUMBER_SIZE);
    out.edge(Internal, n::VALUE, shared::numeral(draw));
    out.edge(Internal, n::MAP, map::NUMBER);
}

/// Self size of a heap number.
pub(crate) const NUMBER_SIZE: u64 = 16;

/// A JavaScript array; `items` are its elements and `elements` is the ordinal of its hidden array.
pub(crate) fn js_array<S: Sink>(items: impl Iterator<Item = u64>, elements: u64, out: &mut S) {
    out.node(NodeType::Object, n::C_ARRAY, ARRAY_OBJECT);
    for (i, to) in items.enumerate() {
        out.edge(Element, i as u64, to);
    }
    instance_of(class::C_ARRAY, out);
    out.edge(Internal, n::ELEMENTS, elements);
}

/// Self size of a JavaScript array object without its hidden array.
pub(crate) const ARRAY_OBJECT: u64 = 32;

/// The hidden array of a JavaScript array, owned by the array object, which therefore gets its bytes.
pub(crate) fn js_array_elements<S: Sink>(count: u64, items: impl Iterator<Item = u64>, out: &mut S) {
    out.node(NodeType::Array, n::OBJECT_ELEMENTS, array_size(count));
    for (i, to) in items.enumerate() {
        slot(i as u64, to, out);
    }
    out.edge(Internal, n::MAP, map::FIXED_ARRAY);
}

/// Shallow size of a JavaScript array after the adjustment.
pub(crate) const fn js_array_size(count: u64) -> u64 {
    ARRAY_OBJECT + array_size(count)
}

/// Edges of a JavaScript array and its hidden array together.
pub(crate) const fn js_array_edges(count: u64) -> u64 {
    2 * count + 4
}
