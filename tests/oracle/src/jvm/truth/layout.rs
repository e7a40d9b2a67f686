//! Shallow sizes, as MAT derives them from the layout of fields.

use super::super::model::{Class, ObjectData, Type};
use super::index::{Index, Node};

/// Where an array's elements begin that are stored as wide as they can be with references of four bytes: two words of
/// header and a length.
const ARRAY_HEADER: u64 = 16;

/// What the sizes of a dump follow from.
pub(super) struct Sizes {
    /// Bytes of a pointer.
    pointer: u64,
    /// Bytes of a reference in a field or an array.
    reference: u64,
    /// What every size is a multiple of.
    alignment: u64,
}

impl Sizes {
    pub(super) fn new(index: &Index<'_>) -> Self {
        let pointer = index.dump.id_size as u64;
        let reference = if pointer == 8 && arrays_would_overlap(index) { 4 } else { pointer };
        Self { pointer, reference, alignment: alignment(index) }
    }

    pub(super) fn shallow(&self, index: &Index<'_>, node: &Node<'_>) -> u64 {
        match node {
            Node::Root => 0,
            Node::BootLoader => match index.named("java.lang.ClassLoader") {
                Some(class) => self.instance(index, class),
                None => 0,
            },
            Node::Class(class) => self.class(class),
            Node::Object(object) => match &object.data {
                ObjectData::Instance(class, _) => self.instance(index, *class),
                ObjectData::ObjectArray(_, elements) => self.array(elements.len() as u64, self.reference),
                ObjectData::PrimitiveArray(kind, values) => self.array(values.len(), kind.size()),
            },
        }
    }

    fn size_of(&self, kind: Type) -> u64 {
        match kind {
            Type::Object => self.reference,
            Type::Primitive(primitive) => primitive.size(),
        }
    }

    /// The header, which is all of the topmost class, whatever fields it says it has; then the fields of each class from
    /// the top down, each level filled up to a whole reference.
    fn instance(&self, index: &Index<'_>, class: u64) -> u64 {
        let mut levels: Vec<&Class> = index.chain(class).collect();
        levels.reverse();
        let mut size = self.pointer + self.reference;
        for level in levels.into_iter().skip(1) {
            size += level.fields.iter().map(|&(_, kind)| self.size_of(kind)).sum::<u64>();
            size = size.next_multiple_of(self.reference);
        }
        size.next_multiple_of(self.alignment)
    }

    fn array(&self, length: u64, element: u64) -> u64 {
        let header = (self.pointer + self.reference + 4).next_multiple_of(self.reference);
        (header + length * element).next_multiple_of(self.alignment)
    }

    /// A class weighs what its static fields do.
    fn class(&self, class: &Class) -> u64 {
        let fields: u64 = class.statics.iter().map(|field| self.size_of(field.value.type_of())).sum();
        fields.next_multiple_of(self.alignment)
    }
}

/// Whether there is an object where an array's elements would be if each had eight bytes.
fn arrays_would_overlap(index: &Index<'_>) -> bool {
    let mut addresses: Vec<u64> = index.nodes.iter().filter_map(Node::address).collect();
    addresses.sort_unstable();
    index.dump.objects.iter().any(|object| match &object.data {
        ObjectData::ObjectArray(_, elements) => {
            let end = object.address.saturating_add(ARRAY_HEADER + 8 * elements.len() as u64);
            let next = addresses.partition_point(|&address| address <= object.address);
            addresses.get(next).is_some_and(|&next| next < end)
        }
        _ => false,
    })
}

/// The greatest power of two from 8 to 256 that all addresses are multiples of; 8 if there is none.
fn alignment(index: &Index<'_>) -> u64 {
    let bits = index.nodes.iter().filter_map(Node::address).fold(256, |bits, address| bits | address);
    (1 << bits.trailing_zeros()).max(8)
}
